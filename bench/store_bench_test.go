package bench

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/sqlite"
	"coleo.dev/store"
)

// These constants limit the times for logs of events. Each write is compared with a bare insert of the same
// rows by the same driver. The bare insert uses batches of the same size, and a table with the same indexes.
const (
	logEvents   = 1_000_000
	logBatch    = 1000    // how many events of a host serve reads at once
	logRun      = 100_000 // events in the longest run
	appendBar   = 2.0     // largest ratio to the time of the bare insert
	pageBar     = 5.0     // median time for a filter's pages, in milliseconds
	pageOf      = 100     // events per page
	pagesOfEach = 200
	logArms     = 20
	logPart     = 7 * logArms * 100 // number of events of a part of the log; in a part, each arm has one run of 700 events
)

// logEvent returns event number i of a log of 20 arms. The log begins with one long run of the first arm. After
// that, the arms take turns, each with seven events at a time.
func logEvent(i int) coleo.Event {
	arm := i / 7 % logArms
	run := fmt.Sprintf("run-%d-%d", arm, i/logPart)
	if i < logRun {
		arm, run = 0, "run-long"
	}
	kinds := []coleo.EventKind{coleo.EventAssistantText, coleo.EventToolStart, coleo.EventToolProgress,
		coleo.EventToolEnd, coleo.EventUsage}
	kind, source := kinds[i%len(kinds)], coleo.SourceTranscript
	var body any = coleo.ToolProgress{ID: fmt.Sprint("call-", i),
		Output: "a line of output of some eighty characters, as a command may print it, and no more"}
	switch {
	case i%logPart < 7*logArms && i%7 == 0:
		kind, source, body = coleo.EventRunStart, "", coleo.Receipt{ID: run, Text: "do it"}
	case i%logPart >= logPart-7*logArms && i%7 == 6:
		kind, source, body = coleo.EventRunEnd, "", coleo.RunEnd{Status: coleo.Idle, Answer: "done"}
	case kind == coleo.EventUsage:
		body = coleo.ReplyUsage{Usage: coleo.Usage{Input: 100, Output: 20}, Model: "m"}
	}
	payload, _ := json.Marshal(body)
	return coleo.Event{Run: run, Arm: fmt.Sprint("arm-", arm), Time: time.Unix(int64(i), 0), Turn: 1 + i%9, Kind: kind,
		Source: source, Payload: payload}
}

// inBatches calls each of the functions with the events of the log, in batches. It returns the
// total time of each function. The functions take turns, so that other programs of the machine slow
// all of them alike.
func inBatches(b *testing.B, adds ...func([]coleo.Event) error) []time.Duration {
	b.Helper()
	took := make([]time.Duration, len(adds))
	batch := make([]coleo.Event, logBatch)
	for at := 0; at < logEvents; at += logBatch {
		for i := range batch {
			batch[i] = logEvent(at + i)
			batch[i].Host, batch[i].Epoch, batch[i].Seq = "h", "e", uint64(at+i+1)
		}
		for i, add := range adds {
			begin := time.Now()
			ok(b, add(batch))
			took[i] += time.Since(begin)
		}
	}
	return took
}

// BenchmarkLogs writes a million events to host.db and to serve.db, and compares both with a bare
// insert. Then it reads pages of serve.db with each filter.
func BenchmarkLogs(b *testing.B) {
	for b.Loop() {
		host, err := store.OpenHost(filepath.Join(b.TempDir(), "host.db"))
		ok(b, err)
		serve, err := store.OpenServe(filepath.Join(b.TempDir(), "serve.db"))
		ok(b, err)
		bareHost := bareCopy(b, "host.db", func(path string) (io.Closer, error) { return store.OpenHost(path) })
		bareServe := bareCopy(b, "serve.db", func(path string) (io.Closer, error) { return store.OpenServe(path) })
		took := inBatches(b,
			func(events []coleo.Event) error { return insertBare(bareHost, "events", "seq, epoch", events) },
			func(events []coleo.Event) error { _, err := host.Append(b.Context(), events...); return err },
			func(events []coleo.Event) error {
				return insertBare(bareServe, "run_events", "seq, epoch, host", events)
			},
			func(events []coleo.Event) error { return serve.Project(b.Context(), events) })
		ok(b, host.Close())
		for i, name := range []string{"bare-append", "append", "bare-project", "project"} {
			b.ReportMetric(logEvents/took[i].Seconds(), name+"-events/s")
		}
		bar(b, "append-per-bare", []float64{took[1].Seconds() / took[0].Seconds()}, appendBar)
		bar(b, "project-per-bare", []float64{took[3].Seconds() / took[2].Seconds()}, appendBar)
		readPages(b, serve)
		ok(b, serve.Close())
	}
}

// bareCopy returns an empty database with Coleo's tables and indexes, for use without Coleo's code.
func bareCopy(b *testing.B, name string, create func(path string) (io.Closer, error)) *sql.DB {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	made, err := create(path)
	ok(b, err)
	ok(b, made.Close())
	db, err := sqlite.Open(path, "_journal_mode=WAL&_synchronous=NORMAL&_txlock=immediate&_cache_size=-16000")
	ok(b, err)
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// insertBare writes the same rows with plain SQL.
func insertBare(db *sql.DB, table, keys string, events []coleo.Event) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	n := strings.Count(keys, ",") + 1
	insert, err := tx.Prepare("INSERT INTO " + table + " (run_id, arm_id, ts, turn, kind, source, payload, " + keys +
		") VALUES (?, ?, ?, ?, ?, ?, ?" + strings.Repeat(", ?", n) + ")")
	if err != nil {
		return err
	}
	for _, e := range events {
		source := sql.NullString{String: string(e.Source), Valid: e.Source != ""}
		values := []any{e.Run, e.Arm, e.Time.UTC().Format(time.RFC3339Nano), e.Turn, string(e.Kind), source,
			string(e.Payload), int64(e.Seq), e.Epoch, e.Host}
		if _, err := insert.Exec(values[:7+n]...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// readPages reads pages with each filter, from positions all over the log.
func readPages(b *testing.B, s *store.ServeDB) {
	b.Helper()
	rare := []coleo.EventKind{coleo.EventRunStart, coleo.EventRunEnd}
	for name, f := range map[string]store.EventFilter{
		"all": {}, "arm": {Arm: "arm-7"}, "run": {Run: "run-long"}, "kind": {Kinds: rare},
		"arm-kind": {Arm: "arm-0", Kinds: append(rare, coleo.EventUsage)},
		"run-kind": {Run: "run-long", Kinds: append(rare, coleo.EventUsage)},
	} {
		var took []time.Duration
		for i := range pagesOfEach {
			f.Limit, f.After = pageOf, uint64(i*logEvents/pagesOfEach)
			if f.Run != "" {
				f.After = uint64(i * logRun / pagesOfEach)
			}
			begin := time.Now()
			list, err := s.Entries(b.Context(), f)
			took = append(took, time.Since(begin))
			ok(b, err)
			if len(list) == 0 && i == 0 {
				b.Errorf("no events by the filter %s", name)
			}
		}
		bar(b, name+"-page-p50-ms", []float64{millis(at(took, 50))}, pageBar)
	}
	var took []time.Duration
	for i := range pagesOfEach {
		begin := time.Now()
		_, _, err := s.Runs(b.Context(), store.RunFilter{Arm: fmt.Sprint("arm-", i%20), Limit: pageOf})
		took = append(took, time.Since(begin))
		ok(b, err)
	}
	bar(b, "runs-page-p50-ms", []float64{millis(at(took, 50))}, pageBar)
}
