package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
)

// writerArg is the argument with which the test binary calls writeUntilKilled.
const writerArg = "append-until-killed"

// writeUntilKilled appends batches of one to four events until the process is killed. After each
// acknowledged batch, it prints the head of the log.
func writeUntilKilled(path string, out io.Writer) error {
	h, err := OpenHost(path)
	if err != nil {
		return err
	}
	for n := h.Head(); ; {
		batch := make([]coleo.Event, 1+n%4)
		for i := range batch {
			kind := coleo.EventWitness
			if rand.IntN(8) == 0 {
				kind = coleo.EventSpawned
			}
			batch[i] = event(kind, "a", coleo.Note{Text: strconv.FormatUint(n+uint64(i)+1, 10)})
		}
		done, err := h.Append(context.Background(), batch...)
		if err != nil {
			return err
		}
		n = done[len(done)-1].Seq
		if _, err := fmt.Fprintln(out, n); err != nil {
			return err
		}
	}
}

func TestKillingTheWriterLosesNoAcknowledgedEventAndLeavesNoGap(t *testing.T) {
	t.Parallel()
	rounds := fewer(12) // with -short, 6 rounds
	path := filepath.Join(t.TempDir(), "host.db")
	epochs := map[string]bool{}
	for round := range rounds {
		acknowledged := killWriter(t, path, 5+rand.IntN(200))
		h, err := OpenHost(path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		checkLog(t, h, acknowledged)
		if epochs[h.Epoch()] {
			t.Fatalf("two writers wrote events of epoch %s", h.Epoch())
		}
		epochs[h.Epoch()] = true
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killWriter starts a writer, kills it after the given number of acknowledgements, and returns the head of the
// log that the writer has acknowledged last.
func killWriter(t *testing.T, path string, after int) uint64 {
	t.Helper()
	cmd := exec.Command(os.Args[0], writerArg, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last uint64
	lines := bufio.NewReader(out)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil { // the end of the output, perhaps in the middle of a line
			break
		}
		if last, err = strconv.ParseUint(strings.TrimSpace(line), 10, 64); err != nil {
			t.Fatal(err)
		}
		if n == after {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if last == 0 {
		t.Fatal("the writer acknowledged nothing")
	}
	return last
}

func checkLog(t *testing.T, h *HostDB, acknowledged uint64) {
	t.Helper()
	if h.Head() < acknowledged {
		t.Fatalf("head = %d, and %d had been acknowledged", h.Head(), acknowledged)
	}
	var at uint64
	for at < h.Head() {
		events, err := h.Events(t.Context(), at, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			var n coleo.Note
			if err := json.Unmarshal(e.Payload, &n); err != nil {
				t.Fatal(err)
			}
			if at++; e.Seq != at || n.Text != strconv.FormatUint(at, 10) {
				t.Fatalf("event %d says it is number %s; want number %d", e.Seq, n.Text, at)
			}
		}
	}
}
