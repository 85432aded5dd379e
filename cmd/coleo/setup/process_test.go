package setup

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"coleo.dev/config"
)

// While End waits for the end of serve, another `coleo up` starts the next serve, and records it. End must leave this
// record alone. Otherwise, nobody would find the next serve: `coleo down` would say that nothing was running.
func TestEndLeavesTheRecordOfTheNextProcessAlone(t *testing.T) {
	t.Parallel()
	s := Setup{Paths: config.Paths{State: t.TempDir()}}
	program := exec.Command("sh", "-c", "trap 'echo asked; read go; exit' TERM; echo ready; while :; do sleep 0.01; done")
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	says := func(want string) {
		t.Helper()
		if line, err := said.ReadString('\n'); line != want+"\n" {
			t.Fatalf("the program says %q, %v, want %q", line, err, want)
		}
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill() })
	says("ready")
	if err := s.RecordProcess("serve", program.Process.Pid); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.End(t.Context(), "serve")
		ended <- err
	}()
	says("asked")
	if err := s.RecordProcess("serve", os.Getpid()); err != nil { // the test stands for the next serve
		t.Fatal(err)
	}
	_ = in.Close()
	_ = program.Wait()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if id, runs := s.Process("serve"); !runs || id.PID != os.Getpid() {
		t.Errorf("the recorded process is %+v, and it runs: %v", id, runs)
	}
}
