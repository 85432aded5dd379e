package sandbox

import (
	"slices"
	"strings"
	"testing"
)

func TestABoxBecomesACommandLine(t *testing.T) {
	t.Parallel()
	programs := Programs{Bwrap: "/usr/bin/bwrap", Coleo: "/home/u/.coleo/bin/coleo"}
	list := []struct {
		name string
		box  Box
		want string // the expected options, without those that are always the same
	}{
		{"a folder comes before what is in it, however they are given",
			Box{Workdir: "/home/u/src/p", Home: "/home/u",
				Writable: []Place{{Path: "/home/u/src/p"}, {Path: "/home/u/.mine", Source: "/disk/mine"}},
				Readable: []Place{{Path: "/home/u/.mine/settings"}}, System: []Place{{Path: "/usr"}}},
			"--ro-bind /usr /usr --tmpfs /home/u --bind /disk/mine /home/u/.mine --ro-bind /home/u/.mine/settings " +
				"/home/u/.mine/settings --bind /home/u/src/p /home/u/src/p " +
				"--ro-bind /home/u/.coleo/bin/coleo /home/u/.coleo/bin/coleo"},
		{"a place that is both writable and readable is only readable",
			Box{Workdir: "/w", Home: "/home/u", Writable: []Place{{Path: "/w"}, {Path: "/x"}}, Readable: []Place{{Path: "/x"}}},
			"--bind /w /w --ro-bind /x /x --tmpfs /home/u --ro-bind /home/u/.coleo/bin/coleo /home/u/.coleo/bin/coleo"},
		{"a link is made where the place is empty, and not where the real one is",
			Box{Workdir: "/w", Home: "/home/u", System: []Place{{Path: "/bin", Link: "usr/bin"}},
				Readable: []Place{{Path: "/home/u/bin/x", Link: "../lib/x"}, {Path: "/opt/n"}, {Path: "/opt/n/x", Link: "y"}}},
			"--symlink usr/bin /bin --tmpfs /home/u --ro-bind /opt/n /opt/n --symlink ../lib/x /home/u/bin/x " +
				"--ro-bind /home/u/.coleo/bin/coleo /home/u/.coleo/bin/coleo"},
		{"what is hidden comes last",
			Box{Workdir: "/w", Home: "/home/u", System: []Place{{Path: "/etc"}},
				Hidden: []Hidden{{Path: "/etc/shadow"}, {Path: "/etc/ssl/private", Folder: true}}},
			"--ro-bind /etc /etc --tmpfs /home/u --ro-bind /home/u/.coleo/bin/coleo /home/u/.coleo/bin/coleo " +
				"--ro-bind /dev/null /etc/shadow --tmpfs /etc/ssl/private --remount-ro /etc/ssl/private"},
	}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			line := strings.Join(c.box.Argv(programs), " ")
			_, rest, _ := strings.Cut(line, "--tmpfs /tmp ")
			if got, _, _ := strings.Cut(rest, " --chdir"); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if want := "--chdir " + c.box.Workdir + " -- /home/u/.coleo/bin/coleo sandbox-enter --"; !strings.HasSuffix(line,
				want) {
				t.Errorf("%s\nmust end with %s", line, want)
			}
		})
	}
}

func TestOnlyABoxWithoutNetworkLosesIt(t *testing.T) {
	t.Parallel()
	for _, offline := range []bool{true, false} {
		argv := Box{Workdir: "/w", Home: "/h", Offline: offline}.Argv(Programs{Bwrap: "/b", Coleo: "/c"})
		if got := slices.Contains(argv, "--unshare-net"); got != offline {
			t.Errorf("offline %t: %v", offline, argv)
		}
	}
}
