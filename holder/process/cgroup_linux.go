package process

//platform:linux Control groups = one for each arm, where the user may make one

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// If an arm has its own control group, Coleo can end all processes of the arm in one
// step. That includes a process that has left the process tree and has removed the mark
// from its environment. Coleo makes a group in two cases. Either this process's own
// group was delegated to it, or systemd does not manage the groups and the folder is
// writable. In any other case there is no group, and that is not an error. Coleo then
// finds processes only by the tree and by the mark.

// Group is the control group of an arm. The zero Group means that there is no group.
type Group struct{ dir string }

// groupFile returns the path of the file that holds the path of the group. The guard
// and the next holder read this file.
func groupFile(dir string) string { return filepath.Join(dir, "cgroup") }

// MakeGroup makes a group for a start of an arm, below this process's own group. It
// writes the path of the group to groupFile. The argument start is a word that no other
// start of the arm has. If alone is true, a person runs the program under a holder.
func MakeGroup(dir, arm, start string, alone bool) Group {
	own := delegated()
	if own == "" {
		return Group{}
	}
	g := Group{filepath.Join(own, groupName(arm, start, alone))}
	if os.Mkdir(g.dir, 0o755) != nil {
		return Group{}
	}
	if _, err := os.Stat(filepath.Join(g.dir, "cgroup.kill")); err != nil ||
		os.WriteFile(groupFile(dir), []byte(g.dir), 0o600) != nil {
		_ = os.Remove(g.dir) // before Linux 5.14
		return Group{}
	}
	return g
}

// Prefixes of the names of control groups. The first is for arms, and the second is for
// programs that a person runs under a holder.
const (
	armGroup   = "coleo-arm-"
	aloneGroup = "coleo-hold-"
)

// groupName returns a valid folder name that differs for each start. The arm's id is
// the part before the first dot, after the prefix.
func groupName(arm, start string, alone bool) string {
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, arm)
	begin := armGroup
	if alone {
		begin = aloneGroup
	}
	return begin + clean[:min(len(clean), 150)] + "." + start
}

// OpenGroup returns the group that a holder made for the folder dir.
func OpenGroup(dir string) Group {
	raw, err := os.ReadFile(groupFile(dir))
	path := string(raw)
	base := filepath.Base(path)
	if err != nil || !strings.HasPrefix(base, armGroup) && !strings.HasPrefix(base, aloneGroup) {
		return Group{}
	}
	return Group{path}
}

// delegated returns the folder of this process's own group in the unified hierarchy. If
// groups cannot be made below it, delegated returns "".
func delegated() string {
	mount := unifiedMount()
	raw, err := os.ReadFile("/proc/self/cgroup")
	if mount == "" || err != nil {
		return ""
	}
	for line := range bytes.Lines(raw) {
		path, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::"))
		if !ok {
			continue
		}
		dir := filepath.Join(mount, string(path))
		if unix.Access(dir, unix.W_OK) != nil || systemdRuns() && !markedDelegated(dir) {
			return ""
		}
		return dir
	}
	return ""
}

func systemdRuns() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// markedDelegated reports whether systemd has delegated the group whose folder is dir.
func markedDelegated(dir string) bool {
	var value [4]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// unifiedMount returns the mount point of the cgroup version 2 hierarchy.
func unifiedMount() string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4]
		}
	}
	return ""
}

// Fd returns a descriptor of the group's folder, for starting a program in the group.
// It returns -1 if there is no group.
func (g Group) Fd() int {
	if g.dir == "" {
		return -1
	}
	fd, err := unix.Open(g.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// kill ends all processes in the group, however they were started.
func (g Group) kill() {
	if g.dir != "" {
		_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0)
	}
}

// pids returns the processes in the group itself. It leaves out processes in groups
// below it. The method populated counts these too.
func (g Group) pids() map[int]bool {
	out := map[int]bool{}
	if g.dir == "" {
		return out
	}
	raw, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	if err != nil {
		return out
	}
	for field := range bytes.FieldsSeq(raw) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			out[pid] = true
		}
	}
	return out
}

// populated reports whether a process lives in the group or in a group below it.
func (g Group) populated() bool {
	if g.dir == "" {
		return false
	}
	raw, err := os.ReadFile(filepath.Join(g.dir, "cgroup.events"))
	return err == nil && bytes.Contains(raw, []byte("populated 1"))
}

// End kills the processes in the group, waits until none is left, and removes the group.
func (g Group) End(dir string) error {
	if g.dir == "" {
		return nil
	}
	for deadline := time.Now().Add(KillTimeout); g.populated(); time.Sleep(PollEvery) {
		g.kill()
		if time.Now().After(deadline) {
			return fmt.Errorf("end the control group %s: processes %v are left", g.dir, g.pids())
		}
	}
	var below []string
	_ = filepath.WalkDir(g.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != g.dir {
			below = append(below, path)
		}
		return nil
	})
	for _, path := range slices.Backward(below) {
		_ = os.Remove(path)
	}
	if err := os.Remove(g.dir); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove the control group: %w", err)
	}
	return os.Remove(groupFile(dir))
}
