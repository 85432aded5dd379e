package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/sandbox/container"
	"coleo.dev/sandbox/container/containertest"
)

// broken describes a container that lacks one protection.
type broken struct {
	change func(*container.Plan)
	// fakeEngine is a script that runs in place of the engine when a container starts. In the script,
	// ENGINE stands for the real engine's program.
	fakeEngine string
	ways       []string // ways that must succeed in this container
}

// runContained runs the escape program in a container. It returns the result of each way.
func (o *outside) runContained(t *testing.T, kind coleo.SandboxKind, b broken) map[string]string {
	t.Helper()
	engine, err := container.Find(kind, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	if b.fakeEngine != "" {
		fake := filepath.Join(o.dir, "fake-engine")
		write(t, fake, strings.ReplaceAll("#!/bin/sh\n[ \"$1\" = run ] && { "+b.fakeEngine+"; }\nexec ENGINE \"$@\"\n",
			"ENGINE", engine))
		if err := os.Chmod(fake, 0o755); err != nil {
			t.Fatal(err)
		}
		engine = fake
	}
	program := o.program(t)
	p := container.Plan{Kind: kind, Program: engine, Environ: container.Environ(os.Environ()), Coleo: program,
		Image: containertest.Image(t, kind, map[string]string{"/bin/true": "/bin/true", "/bin/of-the-test": os.Args[0]}),
		Link:  filepath.Join(o.dir, "link"), Home: o.home, Workdir: o.work, Dropped: []string{"PATH"},
		Mounts: []container.Mount{{Source: o.work, Target: o.work},
			{Source: filepath.Join(o.home, ".mine"), Target: filepath.Join(o.home, ".mine")}}}
	if o.rules != nil {
		p.Rules = o.networkFile(t)
	}
	if b.change != nil {
		b.change(&p)
	}
	file := filepath.Join(o.dir, "plan.json")
	if err := p.Write(file); err != nil {
		t.Fatal(err)
	}
	return o.escape(t, []string{program, container.StartVerb, file, "--", program, escapeVerb},
		[]string{"HOME=" + o.home, process.EnvArm + "=" + process.Mark(filepath.Base(o.dir), 1, "nonce")})
}

// eachEngine runs a test with each engine that works on this machine.
func eachEngine(t *testing.T, run func(t *testing.T, kind coleo.SandboxKind)) {
	for _, kind := range []coleo.SandboxKind{coleo.SandboxPodman, coleo.SandboxDocker} {
		t.Run(string(kind), func(t *testing.T) {
			containertest.Need(t, kind)
			run(t, kind)
		})
	}
}

// ownDevice is a way to escape that succeeds in a container of root, but does no harm. The container has its
// own devices.
const ownDevice = "change the mode of a device"

// TestNothingGetsOutOfAContainer runs a program that tries each way to escape, as the user of the test.
// The program's results and the observations outside must agree that nothing succeeded.
func TestNothingGetsOutOfAContainer(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		o := newOutside(t, os.Geteuid())
		var before, after unix.Stat_t
		if err := unix.Stat("/dev/null", &before); err != nil {
			t.Fatal(err)
		}
		for way, how := range o.runContained(t, kind, broken{}) {
			if !strings.HasPrefix(how, refused) && way != ownDevice {
				t.Errorf("%s: %s", way, how)
			}
		}
		if err := unix.Stat("/dev/null", &after); err != nil || before.Mode != after.Mode || before.Uid != after.Uid {
			t.Errorf("the device of the machine has changed: %v, %v", after, err)
		}
		o.check(t)
	})
}

// brokenContainers returns containers that each lack one protection.
func brokenContainers() map[string]broken {
	const replace = `for w; do shift; [ "$w" = OLD ] && w=NEW; set -- "$@" "$w"; done; exec ENGINE "$@"`
	out := map[string]broken{
		"with the processes of the machine": {fakeEngine: `shift; exec ENGINE run --pid host "$@"`,
			ways: []string{"see a process", "signal a process"}},
		"with another folder of HOME": {change: func(p *container.Plan) {
			key := filepath.Join(p.Home, ".ssh")
			p.Mounts = append(p.Mounts, container.Mount{Source: key, Target: key})
		}, ways: []string{"read another folder of HOME"}},
		"with files of Coleo": {change: func(p *container.Plan) {
			for _, name := range []string{"serve.sock", "victim"} {
				path := filepath.Join(filepath.Dir(p.Link), name)
				p.Mounts = append(p.Mounts, container.Mount{Source: path, Target: path})
			}
		}, ways: []string{"reach a socket of Coleo", "write outside"}},
	}
	if os.Geteuid() == 0 { // other users have no capabilities and cannot write settings anyway
		out["with a root folder that can be written"] = broken{fakeEngine: strings.NewReplacer("OLD", "--read-only", "NEW",
			"--read-only=false").Replace(replace), ways: []string{"make a setting"}}
		out["with capabilities"] = broken{fakeEngine: strings.NewReplacer("OLD", "ALL", "NEW",
			"AUDIT_WRITE").Replace(replace), ways: []string{"have capabilities"}}
	}
	return out
}

// TestTheWaysLeadOutOfABrokenContainer removes one protection after another. Each time, at least one way
// must succeed, which proves that the way is a real attack.
func TestTheWaysLeadOutOfABrokenContainer(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		list := brokenContainers()
		if kind == coleo.SandboxPodman { // docker's daemon may be in another network than this test
			list["with the network of the machine"] = broken{change: func(p *container.Plan) { p.Network = true },
				ways: []string{"reach an abstract socket", "reach loopback"}}
		}
		for name, b := range list {
			managed := newOutside(t, os.Geteuid()).runContained(t, kind, b)
			for _, way := range b.ways {
				if how, tried := managed[way]; !tried || strings.HasPrefix(how, refused) {
					t.Errorf("%s: %s: %q; want that it leads out", name, way, how)
				}
			}
		}
	})
}

// TestAContainerReachesOnlyItsHosts: a container must reach only the hosts in its rules. It uses the
// same proxy as other sandboxes.
func TestAContainerReachesOnlyItsHosts(t *testing.T) {
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		if !ownNetwork(t) {
			return
		}
		o := boxWithServers(t, os.Geteuid())
		worked := 0
		for way, how := range o.runContained(t, kind, broken{}) {
			must := strings.HasPrefix(way, mustWork)
			if must != !strings.HasPrefix(how, refused) && way != ownDevice {
				t.Errorf("%s: %s", way, how)
			}
			if must {
				worked++
			}
		}
		if worked != 3 {
			t.Errorf("%d servers were tried that must work; want 3", worked)
		}
		o.check(t)
		o.checkLog(t)
	})
}
