package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/holder/process"
	"coleo.dev/sandbox/container/containertest"
	"coleo.dev/wire"
)

// containers contains the container engines of the tests.
var containers = []coleo.SandboxKind{coleo.SandboxPodman, coleo.SandboxDocker}

// contained is a world whose arms run in containers.
type contained struct {
	*world
	kind  coleo.SandboxKind
	image string
}

// newContained makes a world and an image with the fake agent CLI. It skips the test if the engine
// does not work here, unless COLEO_REQUIRE names it.
func newContained(t *testing.T, kind coleo.SandboxKind) *contained {
	t.Helper()
	containertest.Need(t, kind)
	w := newWorld(t, "")
	for _, name := range []string{"DOCKER_HOST", "XDG_RUNTIME_DIR"} {
		if value, set := os.LookupEnv(name); set {
			w.env = append(w.env, name+"="+value)
		}
	}
	self, err := os.Executable()
	w.check(err)
	programs := containertest.Tools()
	programs["/usr/bin/fakeagent"] = self
	return &contained{w, kind, containertest.Image(t, kind, programs)}
}

// spawn starts an arm in a container, with further flags of arm spawn.
func (w *contained) spawn(name string, more ...string) *fake {
	w.t.Helper()
	dir := w.workdir(name, fakeagent.Script{})
	argv := append([]string{"arm", "spawn", "-n", name, "-w", dir, "--harness", "fake", "--sandbox", string(w.kind),
		"--sandbox-image", w.image, "--untested"}, more...)
	return &fake{world: w.world, name: name, workdir: dir, pid: decode[wire.SpawnReply](w.world, argv...).PID}
}

// agents returns the processes in the container that run the arm's fake agent CLI.
func (w *contained) agents(f *fake) (out []int) {
	w.t.Helper()
	for _, pid := range process.Marked(f.arm(f.name).ID) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if argv0, _, _ := strings.Cut(string(raw), "\x00"); err == nil && filepath.Base(argv0) == "fakeagent" {
			out = append(out, pid)
		}
	}
	return out
}

func (w *contained) agent(f *fake) int {
	w.t.Helper()
	list := w.agents(f)
	if len(list) != 1 {
		w.t.Fatalf("the agent CLI has the processes %v; want one", list)
	}
	return list[0]
}

// left returns the arm's containers that still exist.
func (w *contained) left(f *fake) []string {
	return containertest.Left(w.t, w.kind, "label=dev.coleo.arm="+f.arm(f.name).ID)
}

// gone waits until the arm has neither processes nor a container.
func (w *contained) gone(f *fake, pid int, what string) {
	w.t.Helper()
	until(w.t, "the agent CLI has ended after the end of "+what, func() bool { return !runs(pid) })
	until(w.t, "there is no container after the end of "+what, func() bool { return len(w.left(f)) == 0 })
}

// seesNothing checks which of the user's and Coleo's files the agent CLI's process can see, and
// that the process has namespaces of its own. The check itself runs outside of the container.
func (w *contained) seesNothing(f *fake) {
	w.t.Helper()
	inside := func(path string) string { return fmt.Sprintf("/proc/%d/root%s", w.agent(f), path) }
	for _, name := range []string{"config/config.toml", "home/.ssh/key"} {
		if _, err := os.Stat(inside(w.path(name))); !errors.Is(err, fs.ErrNotExist) {
			w.t.Errorf("inside there is %s (%v)", name, err)
		}
	}
	var seen []string
	w.check(filepath.WalkDir(inside(w.path("state")), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			seen = append(seen, d.Name())
		}
		return err
	}))
	if slices.Sort(seen); !slices.Equal(seen, []string{"account.jsonl", "reports.jsonl", "wake"}) {
		w.t.Errorf("inside there are the files %q of Coleo", seen)
	}
	for _, kind := range []string{"pid", "mnt", "ipc"} {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", w.agent(f), kind))
		ours, _ := os.Readlink("/proc/self/ns/" + kind)
		if err != nil || theirs == ours {
			w.t.Errorf("the %s namespace is %s, %v; that outside is %s", kind, theirs, err, ours)
		}
	}
}

func TestAnArmInAContainerLivesAsOneOutside(t *testing.T) {
	t.Parallel()
	for _, kind := range containers {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newContained(t, kind)
			w.check(os.MkdirAll(w.path("home/.ssh"), 0o700))
			w.write("home/.ssh/key", "secret")
			f := w.spawn("one", "-e", "TOLD=nonce-7241", "--sandbox-limit", "memory=1G,pids=200")
			w.seesNothing(f)
			pid := w.agent(f)
			if arm, err := process.ArmOf(pid); err != nil || arm != f.arm("one").ID {
				t.Errorf("the process belongs to %q, %v", arm, err)
			}
			env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
			if err != nil || !strings.Contains(string(env), "TOLD=nonce-7241\x00") {
				t.Errorf("the agent CLI's variables: %q, %v", env, err)
			}
			for _, args := range [][]string{{"arm", "status", "one"}, {"arm", "list"}} {
				if out := w.must(args...); !strings.Contains(out, string(kind)+" (image: "+w.image) {
					t.Errorf("%v does not tell the sandbox:\n%s", args, out)
				}
			}
			if out := w.must("arm", "status", "one"); !strings.Contains(out, "cgroup: memory, pids") {
				t.Errorf("the status does not tell what keeps the limits:\n%s", out)
			}
			for _, verb := range []string{"serve", "agent"} {
				w.kill9(w.onlyProcess(verb))
			}
			w.must("up")
			w.must("arm", "prompt", "one", "--wait", "hello")
			if now := w.agent(f); now != pid {
				t.Errorf("after the kills the agent CLI is process %d, before %d", now, pid)
			}
			w.must("arm", "kill", "one")
			w.gone(f, pid, "the arm")
		})
	}
}

// TestNothingOfAContainerIsLeft kills each of Coleo's processes. The container must end each time,
// and the arm must then be recoverable in a new container.
func TestNothingOfAContainerIsLeft(t *testing.T) {
	t.Parallel()
	for _, kind := range containers {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newContained(t, kind)
			f := w.spawn("one")
			kill := map[string]func(){
				"the holder":                 func() { w.kill9(w.onlyProcess("hold")) },
				"the program outside":        func() { w.kill9(w.onlyProcess("container-start")) },
				"the agent CLI":              func() { w.kill9(w.agent(f)) },
				"the holder and its program": func() { w.kill9(w.onlyProcess("hold")); w.kill9(w.onlyProcess("container-start")) },
				"the host agent, then the holder": func() {
					w.kill9(w.onlyProcess("agent"))
					w.kill9(w.onlyProcess("hold"))
					w.must("up")
				},
			}
			for what, end := range kill {
				pid := w.agent(f)
				end()
				until(t, "the arm has ended after the end of "+what, func() bool { return f.arm("one").State == coleo.Dead })
				w.gone(f, pid, what)
				w.must("arm", "recover", "one")
				w.seesNothing(f)
			}
		})
	}
}

func TestAContainerThatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range containers {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newContained(t, kind)
			w.must("up")
			dir := w.workdir("one", fakeagent.Script{})
			for want, flags := range map[string][]string{
				"needs an image":                 {},
				"nobody has tested":              {"--sandbox-image", w.image},
				"has no image coleo-none:1":      {"--sandbox-image", "coleo-none:1", "--untested"},
				`"--privileged" is not the name`: {"--sandbox-image=--privileged"},
				"contains your home folder":      {"--sandbox-image", w.image, "-w", w.home, "--untested"},
				"the scripted model is not":      {"--sandbox-image", w.image, "--model", "scripted", "--untested"},
				"which of its files it need":     {"--sandbox-image", w.image, "--harness", "printer"},
			} {
				argv := append([]string{"arm", "spawn", "-n", "one", "-w", dir, "--harness", "fake", "--sandbox", string(kind)},
					flags...)
				r := w.run(argv...)
				if r.code == 0 || !strings.Contains(r.err, want) || strings.Count(r.err, "\n") != 1 {
					t.Errorf("%v = %v; want one line with %q", flags, r, want)
				}
			}
			if list := decode[map[string][]coleo.Arm](w.world, "arm", "list", "--all"); len(list["arms"]) != 0 {
				t.Errorf("there are arms: %+v", list)
			}
		})
	}
}

// TestATerminalInAContainerChangesItsSize: the agent CLI in a container must see a change of the size
// of the arm's terminal.
func TestATerminalInAContainerChangesItsSize(t *testing.T) {
	t.Parallel()
	for _, kind := range containers {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newContained(t, kind)
			f := w.spawn("one")
			fd, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", w.agent(f)))
			w.check(err)
			holder := f.pid // the engine's program outside of the container has the same terminal
			same, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", holder))
			if err != nil || filepath.Base(fd) != filepath.Base(same) {
				t.Errorf("inside, the terminal is %s; outside %s, %v", fd, same, err)
			}
			if err := syscall.Kill(holder, 0); err != nil {
				t.Error(err)
			}
		})
	}
}
