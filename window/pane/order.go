package pane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"coleo.dev"
)

// Verb is the verb of coleo that runs Run in a window. Its argument is the arm's folder.
const Verb = "window"

// These files in the arm's folder describe the window. Only the user can read the folder.
const (
	// orderFile contains the Order for Run. Run removes it, because it may contain a password.
	orderFile = "window-order.json"
	// recordFile contains the Record that Run has written.
	recordFile = "window.json"
)

// Order says what Run starts in a window.
type Order struct {
	ID       string   `json:"id"` // a random id; each opening of a window has another one
	Terminal string   `json:"terminal"`
	Title    string   `json:"title"`
	Argv     []string `json:"argv"`
	Env      []string `json:"env"` // Run adds the variables of the terminal
	Workdir  string   `json:"workdir"`
	// Arm is the arm's process. The window closes when this process ends.
	Arm coleo.Identity `json:"arm"`
}

// End says how a window has ended. Its values are stored in files, so they never change.
type End string

// The ends of a window.
const (
	EndHangup  End = "hangup"  // the terminal was closed
	EndLeft    End = "left"    // the program has ended with exit code 0
	EndCrashed End = "crashed" // the program has ended in another way, or did not start
	EndArm     End = "arm"     // the arm has ended
	EndTold    End = "told"    // Coleo has sent TERM to Run
)

// Record is what Run has recorded about one opening of a window.
type Record struct {
	ID       string         `json:"id"`
	Terminal string         `json:"terminal"`
	Title    string         `json:"title"`
	Process  coleo.Identity `json:"process"` // Run's own process
	Began    time.Time      `json:"began"`
	Ended    time.Time      `json:"ended,omitzero"`
	How      End            `json:"how,omitempty"`
	Detail   string         `json:"detail,omitempty"` // for EndCrashed, for example "exit status 1"
}

// writeOrder writes an order into the arm's folder.
func writeOrder(dir string, o Order) error { return replace(filepath.Join(dir, orderFile), o) }

// takeOrder reads the order from the arm's folder and removes it. It returns ENotFound if there is no
// order.
func takeOrder(dir string) (Order, error) {
	var o Order
	path := filepath.Join(dir, orderFile)
	switch found, err := load(path, &o); {
	case err != nil:
		return o, err
	case !found:
		return o, coleo.Errorf(coleo.ENotFound, "no window is to be opened in %s: 'coleo arm open' opens one", dir)
	}
	if err := os.Remove(path); err != nil {
		return o, fmt.Errorf("take the order for a window: %w", err)
	}
	return o, nil
}

// waitingOrder returns the order that waits in the arm's folder, or nil if no order waits.
func waitingOrder(dir string) *Order {
	var o Order
	if found, err := load(filepath.Join(dir, orderFile), &o); err != nil || !found {
		return nil
	}
	return &o
}

// withdraw removes the order if Run has not taken it yet. It reports whether there was an order.
func withdraw(dir string) bool { return os.Remove(filepath.Join(dir, orderFile)) == nil }

// Read returns the record of the newest window in the arm's folder. It returns nil if there is
// none.
func Read(dir string) (*Record, error) {
	var r Record
	if found, err := load(filepath.Join(dir, recordFile), &r); err != nil || !found {
		return nil, err
	}
	return &r, nil
}

func (r Record) write(dir string) error { return replace(filepath.Join(dir, recordFile), r) }

func load(path string, v any) (found bool, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}

// replace writes v as JSON into a file that only its owner can read. If it fails, the old file
// stays.
func replace(path string, v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
