package fakeagent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Kind is the kind of an Entry.
type Kind string

// These are the kinds of entries.
const (
	Started  Kind = "started"  // Text is the process id
	Bytes    Kind = "bytes"    // the fake has read these Bytes, which may have had no effect
	Prompted Kind = "prompted" // Text was submitted
	Said     Kind = "said"     // Text is an answer of the command "say"
	Chosen   Kind = "chosen"   // Text is the option that was chosen in a dialog; "" for none
	// ByItself means that SIGUSR1 has arrived. Text contains the commands of the turn that
	// begins. Text is "" if no turn begins, because another turn is running.
	ByItself  Kind = "by itself"
	Stopped   Kind = "stopped"   // a key interrupted the turn
	InState   Kind = "state"     // Text is the new state: "idle", "busy" or "dialog"
	Signalled Kind = "signalled" // Text names a signal that arrived; the fake can ignore it
	HasChild  Kind = "child"     // Text is the process id of a child that the fake leaves behind
	HungUp    Kind = "hung up"   // the terminal is gone
	Ended     Kind = "ended"     // Text is the exit code
)

// Entry is one line of the record.
type Entry struct {
	At    time.Time `json:"at"`
	Kind  Kind      `json:"kind"`
	Text  string    `json:"text,omitempty"`
	Bytes []byte    `json:"bytes,omitempty"` // base64 in the file
}

// recorder appends entries to a record. It is safe for concurrent use.
type recorder struct {
	mu  sync.Mutex
	out io.Writer
	err error // the first error of a write
}

func (r *recorder) add(k Kind, text string, bytes []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, err := json.Marshal(Entry{At: time.Now(), Kind: k, Text: text, Bytes: bytes})
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
}

// ReadRecord reads the record of a fake, which may still be running. If the file does not exist,
// there are no entries. ReadRecord ignores an incomplete last line. Its error names the file and,
// if a line cannot be decoded, the line.
func ReadRecord(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	defer f.Close()
	var list []Entry
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read record: %w", err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("record %s, line %d: %w", path, len(list)+1, err)
		}
		list = append(list, e)
	}
}
