package pull

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/wholefile"
)

// Record is Coleo's record of an arm's pull request. It is stored in a file on the machine that has
// the arm's worktree.
type Record struct {
	Arm     string `json:"arm"`            // the arm's id
	Repo    string `json:"repo,omitempty"` // the name of the repository, if the arm works in several
	Program string `json:"program"`        // gh or glab
	Remote  string `json:"remote"`         // the URL to which the branch was pushed
	Branch  string `json:"branch"`         // without refs/heads/
	Base    string `json:"base"`           // the branch into which the work would be merged
	Pushed  string `json:"pushed"`         // the last commit that was pushed
	// Number and URL name the pull request. Number is 0 before it is made.
	Number int    `json:"number,omitempty"`
	URL    string `json:"url,omitempty"`

	// Told contains the ids of the items that the arm has received, oldest first.
	Told []string `json:"told,omitempty"`
	// Sending is the prompt that is about to be put into the arm's queue. It is nil if there is
	// none.
	Sending *Sending `json:"sending,omitempty"`
	// Last is the id of the last prompt that was put into the queue. It is "" before the first
	// prompt.
	Last    string    `json:"last,omitempty"`
	Changed time.Time `json:"changed"`
}

// Sending is a prompt that is stored before it is sent. So after a kill, the next watch can find
// out whether the prompt was sent.
type Sending struct {
	ID    string   `json:"id"` // the id of the prompt and of its run
	Text  string   `json:"text"`
	Items []string `json:"items"` // the ids of the items in the prompt; they are added to Told when it is sent
}

const (
	recordSuffix = ".pull.json"
	lockSuffix   = ".pull.lock"
	// mostTold is the largest number of ids in Record.Told. Few pull requests have more items. The
	// oldest ids are forgotten first.
	mostTold = 10_000
)

// Read returns the record of an arm's pull request. `dir` is the folder of the worktrees' records. `ok` is false if
// the arm has no such record.
func Read(dir, arm string) (r Record, ok bool, err error) {
	path := filepath.Join(dir, filepath.Base(arm)+recordSuffix)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return r, false, fmt.Errorf("read the record of a pull request, %s: %w", path, err)
	}
	return r, true, nil
}

// write replaces the record. When write returns, the record is on the disk.
func (r Record) write(dir string) error {
	r.Told = r.Told[max(0, len(r.Told)-mostTold):]
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.Base(r.Arm)+recordSuffix)
	return wholefile.Replace(path, append(data, '\n'), wholefile.OwnerOnly)
}

// lock reserves the pull request of an arm for this process. It returns EBusy at once if another
// process has reserved it.
func lock(dir, arm string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, filepath.Base(arm)+lockSuffix), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, coleo.Errorf(coleo.EBusy, "another 'coleo arm pr' or 'coleo arm watch-pr' is working on the pull "+
			"request of this arm: nothing was done")
	}
	return func() {
		// An explicit unlock is needed, because a child that this process is starting can have the
		// file open for a moment. Then closing the file would not release the lock.
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		f.Close()
	}, nil
}
