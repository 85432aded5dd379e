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

	"coleo.dev"
)

// If an arm has its own control group, Coleo can end all processes of the arm in one step. This
// includes a process that has left the process tree and has removed the mark from its environment.
// Coleo creates a group in two cases:
//
//   - This process's own group was delegated to it.
//   - Systemd does not manage the groups, and the folder of this process's own group is writable.
//
// In all other cases the arm has no group. That is not an error: Coleo then finds processes only by
// the tree and by the mark.

// Group is the control group of an arm. The zero Group means that there is no group.
type Group struct{ dir string }

// groupFile returns the path of a file in the holder's folder dir. The file contains the path of
// the arm's group, for the guard and the next holder.
func groupFile(dir string) string { return filepath.Join(dir, "cgroup") }

// MakeGroup creates a control group for one start of an arm, below this process's own group. It
// records the group's path in groupFile(dir). startWord is different for each start of the arm.
// runByPerson is true if a person runs the holder: see Launch.Alone. If MakeGroup cannot create a
// group, it returns the zero Group.
func MakeGroup(dir, arm, startWord string, runByPerson bool) Group {
	own := delegatedFolder()
	if own == "" {
		return Group{}
	}
	g := Group{filepath.Join(own, groupName(arm, startWord, runByPerson))}
	if os.Mkdir(g.dir, 0o755) != nil {
		return Group{}
	}
	if _, err := os.Stat(filepath.Join(g.dir, "cgroup.kill")); err != nil ||
		os.WriteFile(groupFile(dir), []byte(g.dir), 0o600) != nil {
		// The group cannot be used: Linux before 5.14 has no cgroup.kill, or the path of the group could
		// not be recorded.
		_ = os.Remove(g.dir)
		return Group{}
	}
	return g
}

// These are the prefixes of the names of groups. The first one is for an arm. The second one is for
// a program that a person runs under a holder.
const (
	armGroup    = "coleo-arm-"
	personGroup = "coleo-hold-"
)

// groupName returns the folder name of the group for one start of an arm. It consists of a prefix,
// the arm's id, a dot and a word that only this start has.
func groupName(arm, start string, runByPerson bool) string {
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, arm)
	begin := armGroup
	if runByPerson {
		begin = personGroup
	}
	return begin + clean[:min(len(clean), 150)] + "." + start
}

// OpenGroup returns the group that a holder has recorded in the folder dir. If no group is
// recorded, OpenGroup returns the zero Group.
func OpenGroup(dir string) Group {
	raw, err := os.ReadFile(groupFile(dir))
	path := string(raw)
	base := filepath.Base(path)
	if err != nil || !strings.HasPrefix(base, armGroup) && !strings.HasPrefix(base, personGroup) {
		return Group{}
	}
	return Group{path}
}

// OwnFolder is the name of a group that Coleo creates below a delegated group. Coleo moves the
// processes of the delegated group there. Systemd uses such a group too (DelegateSubgroup).
const OwnFolder = "coleo"

// delegatedFolder returns the folder in which Coleo creates control groups. It is the folder of
// this process's own group. If systemd has delegated only the folder above, it is the folder above.
// It is "" if Coleo cannot create groups.
func delegatedFolder() string {
	dir := ownFolder()
	if dir == "" {
		return ""
	}
	if above := filepath.Dir(dir); !markedDelegated(dir) && markedDelegated(above) {
		dir = above
	}
	if unix.Access(dir, unix.W_OK) != nil || systemdRuns() && !markedDelegated(dir) {
		return ""
	}
	return dir
}

// ownFolder returns the folder of this process's own group, or "" if there is no unified hierarchy.
func ownFolder() string {
	mount := unifiedMount()
	raw, err := readFile("/proc/self/cgroup")
	if mount == "" || err != nil {
		return ""
	}
	for line := range bytes.Lines(raw) {
		if path, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::")); ok {
			return filepath.Join(mount, string(path))
		}
	}
	return ""
}

// GroupsFolder returns the folder for the groups of the arms whose holders this process starts. It
// returns "" if these holders create no groups.
func GroupsFolder() string { return delegatedFolder() }

// Delegated reports whether systemd has delegated the group with the given folder.
func Delegated(folder string) bool { return markedDelegated(folder) }

// OwnGroup returns the folder of this process's own group, if a holder has created the group for an
// arm. Otherwise the error is EUnsupported.
func OwnGroup() (string, error) {
	dir := ownFolder()
	if base := filepath.Base(dir); !strings.HasPrefix(base, armGroup) && !strings.HasPrefix(base, personGroup) {
		return "", coleo.Errorf(coleo.EUnsupported, "the arm has no control group of its own")
	}
	return dir, nil
}

func systemdRuns() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// markedDelegated reports whether systemd has delegated the group with the folder dir.
func markedDelegated(dir string) bool {
	var value [4]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// unifiedMount returns the mount point of the cgroup version 2 hierarchy, or "" if
// there is none.
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

// Fd returns a new descriptor of the group's folder, with which a program can be started in the
// group. It returns -1 if there is no group. The caller must close the descriptor.
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

// kill kills all processes in the group and in the groups below it.
func (g Group) kill() {
	if g.dir != "" {
		_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0)
	}
}

// pids returns the ids of the processes in the group itself. It leaves out the processes in the
// groups below: see isPopulated.
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

// isPopulated reports whether a process lives in the group or in a group below it.
func (g Group) isPopulated() bool {
	if g.dir == "" {
		return false
	}
	raw, err := os.ReadFile(filepath.Join(g.dir, "cgroup.events"))
	return err == nil && bytes.Contains(raw, []byte("populated 1"))
}

// End kills all processes in the group and in the groups below it. When no process is left, it
// removes the groups and groupFile(dir). It returns an error if processes are left after
// KillTimeout.
func (g Group) End(dir string) error {
	if g.dir == "" {
		return nil
	}
	for deadline := time.Now().Add(KillTimeout); g.isPopulated(); time.Sleep(PollEvery) {
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
