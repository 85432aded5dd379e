// Package opencode drives OpenCode's terminal program. harness.toml describes its screen.
// The code finds its conversations and reads them.
package opencode

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"coleo.dev/harnesses/terminal"
)

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte

// Hooks returns the hooks for OpenCode. They find a conversation by its work folder in
// OpenCode's log, and read answers and usage from its database. Forks keep both in a data
// folder of another name, which is also the name of the database.
func Hooks(folder string) terminal.Hooks {
	a := account{folder}
	return terminal.Hooks{
		Conversation: func(_ context.Context, f terminal.Facts) (string, error) { return conversation(f, folder) },
		Answer:       a.answer,
		Usage:        a.usage,
		Record:       a.record(),
	}
}

// created matches the line of the log (1.18.33) that names a new conversation which is
// not part of another.
var created = regexp.MustCompile(`^timestamp=(\S+) .* message=created id=(ses_\w+) .* directory=(.*?) path=.* ` +
	`parentID=undefined `)

// maxLine bounds a line of the log that is looked at, in bytes. The lines that name a
// conversation are far shorter.
const maxLine = 64 << 10

// conversation returns the id of the newest conversation that began in the work folder
// since the start; "" before the first prompt.
func conversation(f terminal.Facts, folder string) (string, error) {
	logs, err := filepath.Glob(filepath.Join(f.Home, ".local", "share", folder, "log", "*.log"))
	if err != nil {
		return "", err
	}
	id, newest := "", f.Started
	for _, path := range logs {
		err := eachLine(path, func(line []byte) {
			m := created.FindSubmatch(line)
			if m == nil || string(m[3]) != f.Workdir {
				return
			}
			if at, err := time.Parse(time.RFC3339Nano, string(m[1])); err == nil && !at.Before(newest) {
				id, newest = string(m[2]), at
			}
		})
		if err != nil {
			return "", fmt.Errorf("read log: %w", err)
		}
	}
	return id, nil
}

// eachLine calls take with each line of a file that has at most maxLine bytes. The line
// is valid until take returns.
func eachLine(path string, take func(line []byte)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	cut := false // the line has pieces that were passed over
	for r := bufio.NewReaderSize(file, maxLine); ; {
		piece, err := r.ReadSlice('\n')
		if full := errors.Is(err, bufio.ErrBufferFull); full || cut {
			cut = full
		} else {
			take(piece)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
