package armfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"

	"coleo.dev"
	"coleo.dev/wholefile"
)

const (
	// pastFile is a file with the prompts that the arm has had. With it, the arm's next host
	// recognizes a repeated prompt, although the log stays with the former host. The file exists
	// only if the arm has moved, or if its agent CLI has ended.
	pastFile = "past-prompts.json"
	// newPastFile contains the prompts that came after pastFile was written, one line of JSON for
	// each. A host writes each line immediately. If it waited, a prompt would be missing if the host
	// is killed and the agent CLI then ends. After a loss of power, the host finds the last lines in
	// its own log.
	newPastFile = "past-prompts.new"
)

// Past contains the prompts of an arm, by id.
type Past map[string]PastPrompt

// PastPrompt is what became of a prompt.
type PastPrompt struct {
	Step coleo.QueueStep `json:"step,omitempty"` // the last step of the prompt in the queue; "" if it has begun a run
	Time time.Time       `json:"time"`           // the time of the step or of the beginning of the run
}

// pastLine is a line of newPastFile.
type pastLine struct {
	ID string `json:"id"`
	PastPrompt
}

// ReadPast reads the prompts that the arm has had, as its hosts have written them. If the files are
// missing, it returns none.
func (f Folder) ReadPast() (Past, error) {
	past := Past{}
	raw, err := os.ReadFile(f.File(pastFile))
	if err == nil {
		err = json.Unmarshal(raw, &past)
	}
	var lines []byte
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		lines, err = os.ReadFile(f.File(newPastFile))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read which prompts an arm has had on other hosts: %w", err)
	}
	for line := range bytes.Lines(lines) {
		var p pastLine
		if json.Unmarshal(line, &p) == nil && p.ID != "" { // this skips a line that a kill or a full disk has cut off
			past[p.ID] = p.PastPrompt
		}
	}
	return past, nil
}

// NotePast adds one prompt to the prompts that ReadPast returns.
func (f Folder) NotePast(id string, p PastPrompt) error {
	line, err := json.Marshal(pastLine{id, p})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.File(newPastFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("store the ids of an arm's prompts: %w", err)
	}
	// The first line feed ends the last line of the file, which may have been cut off.
	_, err = file.Write(append(append([]byte("\n"), line...), '\n'))
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("store the ids of an arm's prompts: %w", err)
	}
	return nil
}

// AddPast adds prompts to the prompts that ReadPast returns, and removes the prompts from before
// the given time. The result survives a loss of power. The caller must not call NotePast at the
// same time.
func (f Folder) AddPast(more Past, oldest time.Time) error {
	past, err := f.ReadPast()
	if err != nil || len(more)+len(past) == 0 {
		return err
	}
	maps.Copy(past, more)
	maps.DeleteFunc(past, func(_ string, p PastPrompt) bool { return p.Time.Before(oldest) })
	raw, err := json.Marshal(past)
	if err == nil {
		err = wholefile.Replace(f.File(pastFile), raw, 0o600)
	}
	if err == nil {
		err = os.Remove(f.File(newPastFile))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store the ids of an arm's prompts: %w", err)
	}
	return nil
}
