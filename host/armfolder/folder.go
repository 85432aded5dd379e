// Package armfolder reads and writes the folder that each arm has below a state folder. The folder
// contains a copy of the arm's record and the data that the user gave to the arm. It also contains one
// folder for each start of the arm.
//
// The package does not decide which arm may run. The lock on a folder shows which process drives
// the arm.
package armfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
)

// Folder is the path of the folder with all files of one arm.
type Folder string

// Of returns the folder of an arm in a state folder.
func Of(state, arm string) Folder { return Folder(filepath.Join(state, "arms", arm)) }

// File returns the path of a file in the folder.
func (f Folder) File(name string) string { return filepath.Join(string(f), name) }

// Start returns the folder of a generation, which is the folder of its holder.
func (f Folder) Start(generation int) string { return f.File(fmt.Sprintf("g%d", generation)) }

// Starts returns the numbers of the arm's generations that still have a folder.
func (f Folder) Starts() []int {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()[min(1, len(e.Name())):]); err == nil && e.IsDir() && e.Name()[0] == 'g' {
			out = append(out, n)
		}
	}
	return out
}

// Occupied returns the generations whose folders are in use by a holder or a guard.
func (f Folder) Occupied() []int {
	var out []int
	for _, n := range f.Starts() {
		if holder.Occupied(f.Start(n)) {
			out = append(out, n)
		}
	}
	return out
}

// AwaitVacated checks that the agent CLI of a generation has ended. If the holder is dead,
// AwaitVacated waits until the holder's guard has ended, too. It does not wait for the agent CLI,
// but returns EConflict if the agent CLI runs or may run. The name is the arm's name, for the
// error.
func (f Folder) AwaitVacated(n int, name string) error {
	client, err := holder.Dial(f.Start(n), "")
	switch coleo.ErrorCode(err) {
	case "":
	case coleo.EUnavailable:
		return holder.AwaitGuard(f.Start(n))
	default:
		return coleo.Errorf(coleo.EConflict, "start %d of arm %s may still run: %w", n, name, err)
	}
	defer client.Close()
	s, err := client.Status()
	if err != nil || process.Look(s.Process) == process.Dead {
		return err
	}
	return coleo.Errorf(coleo.EConflict, "start %d of arm %s still runs (process %d): 'coleo arm kill %s' ends it",
		n, name, s.Process.PID, name)
}

// Earlier returns handles of the generations before the given one, oldest first. It leaves out
// generations whose journal was deleted. Each handle has only the fields that a reader of a
// recording needs.
func (f Folder) Earlier(last coleo.Handle) []coleo.Handle {
	var out []coleo.Handle
	for n := 1; n < last.Generation; n++ {
		dir := f.Start(n)
		if _, err := os.Stat(holder.JournalDir(dir)); err == nil {
			out = append(out, coleo.Handle{Harness: last.Harness, Arm: last.Arm, Generation: n, Dir: dir})
		}
	}
	return out
}

// Thin deletes the folders of the oldest generations, until the generations before the last one
// need at most `keep` bytes. If `keep` is 0, the holder's default applies. The last generation must
// have ended, but Thin keeps its folder. Thin also keeps a folder that a process still uses, for
// example a holder that never proved its identity. `name` is the arm's name, for the error.
func (f Folder) Thin(last coleo.Handle, keep int64, name string) error {
	left := keep
	if left <= 0 {
		left = holder.DefaultKeep
	}
	for _, h := range slices.Backward(f.Earlier(last)) {
		size, err := sizeOf(h.Dir)
		if err != nil {
			return err
		}
		if left -= size; left >= 0 || holder.Occupied(h.Dir) {
			continue
		}
		if err := os.RemoveAll(h.Dir); err != nil {
			return fmt.Errorf("delete the kept files of start %d of arm %s: %w", h.Generation, name, err)
		}
	}
	return nil
}

// sizeOf returns the total size of the files in a folder, in bytes.
func sizeOf(dir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return total, nil
}
