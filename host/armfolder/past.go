package armfolder

import (
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

// pastFile is the name of a file with the prompts that the arm has had on earlier hosts. It exists only if
// the arm has moved, or if its agent CLI has ended. It lets the arm's next host know a repeated prompt,
// because the log stays with the former host.
const pastFile = "past-prompts.json"

// Past has the prompts of an arm by their ids.
type Past map[string]PastPrompt

// PastPrompt is what became of a prompt.
type PastPrompt struct {
	Step coleo.QueueStep `json:"step,omitempty"` // the last step of the queue with it; "" if it has begun a run
	Time time.Time       `json:"time"`           // when that happened
}

// ReadPast reads the prompts that the arm has had on earlier hosts. Without the file, it returns none.
func (f Folder) ReadPast() (Past, error) {
	raw, err := os.ReadFile(f.File(pastFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var past Past
	if err == nil {
		err = json.Unmarshal(raw, &past)
	}
	if err != nil {
		return nil, fmt.Errorf("read which prompts an arm has had on other hosts: %w", err)
	}
	return past, nil
}

// AddPast adds prompts to those that ReadPast returns, and removes those before the time oldest. The write
// survives a power failure.
func (f Folder) AddPast(more Past, oldest time.Time) error {
	past, err := f.ReadPast()
	if err != nil || len(more) == 0 {
		return err
	}
	if past == nil {
		past = Past{}
	}
	maps.Copy(past, more)
	maps.DeleteFunc(past, func(_ string, p PastPrompt) bool { return p.Time.Before(oldest) })
	raw, err := json.Marshal(past)
	if err != nil {
		return err
	}
	if err := wholefile.Replace(f.File(pastFile), raw, 0o600); err != nil {
		return fmt.Errorf("keep which prompts an arm has had: %w", err)
	}
	return nil
}
