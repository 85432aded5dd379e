package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == writerArg {
		err := writeUntilKilled(os.Args[2], os.Stdout)
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// start is the time of all events in these tests.
var start = time.Date(2026, 5, 1, 12, 0, 0, 123456789, time.UTC)

func host(t *testing.T) *HostDB {
	t.Helper()
	return hostAt(t, filepath.Join(t.TempDir(), "host.db"))
}

func hostAt(t *testing.T, path string) *HostDB {
	t.Helper()
	h, err := OpenHost(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func serve(t *testing.T) *ServeDB {
	t.Helper()
	s, err := OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// event returns an event with a payload.
func event(kind coleo.EventKind, arm string, body any) coleo.Event {
	e := coleo.Event{Arm: arm, Kind: kind, Time: start}
	if body != nil {
		e.Payload, _ = json.Marshal(body)
	}
	return e
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Fatalf("%s =\n%s\nwant\n%s", what, g, w)
	}
}

func code(t *testing.T, what string, err error, want coleo.Code) {
	t.Helper()
	if coleo.ErrorCode(err) != want {
		t.Fatalf("%s = %v (code %q), want code %q", what, err, coleo.ErrorCode(err), want)
	}
}

func TestASecondOpenerIsRefusedInOneLineThatNamesTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, open := range map[string]func(string) (interface{ Close() error }, error){
		"host.db":  func(p string) (interface{ Close() error }, error) { return OpenHost(p) },
		"serve.db": func(p string) (interface{ Close() error }, error) { return OpenServe(p) },
	} {
		path := filepath.Join(dir, name)
		first, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, path+".link"); err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{path, path + ".link"} {
			_, err = open(way)
			code(t, "open "+way+" twice", err, coleo.EConflict)
			want := "open " + path + ": process " + strconv.Itoa(os.Getpid()) + " has it open already"
			if err.Error() != want {
				t.Errorf("open twice = %q, want %q", err, want)
			}
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := open(path)
		if err != nil {
			t.Fatalf("open after close: %v", err)
		}
		again.Close()
	}
}

func TestFilesAreForTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made")
	path := filepath.Join(dir, "a ?#%41.db") // a URL parser would misinterpret these characters
	h := hostAt(t, path)
	if _, err := h.Append(t.Context(), event(coleo.EventWitness, "a", nil)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
		path + ".lock": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", name, got, want)
		}
	}
}

func TestADatabaseOfTheOtherKindOrOfANewerColeoIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	h := hostAt(t, path)
	h.Close()
	if _, err := OpenServe(path); err == nil ||
		err.Error() != "open store "+path+": it is not a serve database of coleo" {
		t.Errorf("open host.db as serve.db = %v", err)
	}
	h = hostAt(t, path)
	if _, err := h.db.writer.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	h.Close()
	_, err := OpenHost(path)
	code(t, "open a newer database", err, coleo.EConflict)
	if !strings.HasPrefix(err.Error(), "open store "+path+": its tables are at version 99") {
		t.Errorf("open a newer database = %v", err)
	}
}

func TestBothDatabasesAreSetUpAsPromised(t *testing.T) {
	t.Parallel()
	for d, steps := range map[*database]string{host(t).db: "11", serve(t).db: "16"} {
		for pragma, want := range map[string]string{"journal_mode": "wal", "busy_timeout": "5000",
			"user_version": steps} {
			var got string
			if err := d.writer.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s of %s = %q (%v), want %q", pragma, filepath.Base(d.path), got, err, want)
			}
		}
		var loose string
		err := d.reader.QueryRow(
			"SELECT COALESCE(group_concat(name), '') FROM pragma_table_list WHERE schema = 'main' AND strict = 0 AND " +
				"name NOT LIKE 'sqlite%'").Scan(&loose)
		if err != nil || loose != "" {
			t.Errorf("tables of %s that are not STRICT: %q (%v)", filepath.Base(d.path), loose, err)
		}
		if _, err := d.reader.Exec("DELETE FROM arms"); err == nil {
			t.Errorf("the read pool of %s can write", filepath.Base(d.path))
		}
	}
}

func TestTheArmsTableHasThePublishedColumns(t *testing.T) {
	t.Parallel()
	published := strings.Fields(`id name domain harness status planning_blocked context_budget current_context_used ` +
		`created_at
		updated_at last_activity_at last_heartbeat last_output_at config personality convictions reputation generation
		parent_arm_id pid port provider model total_tokens total_cost current_task_id current_task_subject ` +
		`current_bug_id
		current_bug_title agent_id host session_id workdir`)
	var columns string
	if err := serve(t).db.reader.QueryRow("SELECT group_concat(name, ' ') FROM pragma_table_info('arms')").Scan(
		&columns); err != nil {
		t.Fatal(err)
	}
	for _, name := range published {
		if !strings.Contains(" "+columns+" ", " "+name+" ") {
			t.Errorf("arms has no column %s", name)
		}
	}
}
