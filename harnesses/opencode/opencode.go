// Package opencode drives OpenCode's terminal program. Its file harness.toml describes the
// program's screen. Its code finds and reads OpenCode's conversations.
package opencode

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"time"

	"coleo.dev/harnesses/terminal"
	"coleo.dev/paths"
	"coleo.dev/record"
)

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte

// Hooks returns the hooks for OpenCode, or for a fork of OpenCode with another data folder. They
// find a conversation by its work folder in OpenCode's log. They read answers and usage from
// OpenCode's database. The log and the database are in the data folder, and the file of the
// database has the name of that folder.
func Hooks(folder string) terminal.Hooks {
	a := account{folder}
	return terminal.Hooks{
		Conversation: func(_ context.Context, f terminal.Facts) (string, error) { return conversation(f, folder) },
		Answer:       a.answer,
		Usage:        a.usage,
		Record:       a.record(),
		Threads:      threads{account: a},
	}
}

// created matches the log line of OpenCode 1.18.33 about a new conversation. It does not match the
// line about a conversation that belongs to another one, such as a subagent's.
var created = regexp.MustCompile(`^timestamp=(\S+) .* message=created id=(ses_\w+) .* directory=(.*?) path=.* ` +
	`parentID=undefined `)

// maxLine is the largest size in bytes of a log line that Coleo reads. The lines about
// conversations are far shorter.
const maxLine = 64 << 10

// conversation returns the id of the newest conversation that began in the work folder
// since the agent CLI was started. It returns "" before the first prompt.
func conversation(f terminal.Facts, folder string) (string, error) {
	logs, err := filepath.Glob(filepath.Join(paths.Quote(account{folder}.data(f.Home, f.Folder)), "log", "*.log"))
	if err != nil {
		return "", err
	}
	id, newest := "", f.Started
	for _, path := range logs {
		err := eachLine(path, func(line []byte) {
			m := created.FindSubmatch(line)
			if m == nil || !record.SameFolder(string(m[3]), f.Workdir) {
				return
			}
			at, err := time.Parse(time.RFC3339Nano, string(m[1]))
			if err == nil && !at.Before(newest) && (f.Mine == nil || f.Mine(string(m[2]), at)) {
				id, newest = string(m[2]), at
			}
		})
		if err != nil {
			return "", fmt.Errorf("read log: %w", err)
		}
	}
	return id, nil
}

// eachLine calls the function `take` for each line of a file. It skips lines of more than maxLine bytes.
// `take` must not keep its line.
func eachLine(path string, take func(line []byte)) error {
	file, err := terminal.OpenWritten(path)
	if err != nil {
		return err
	}
	defer file.Close()
	cut := false // true if the last piece was a part of a too long line, whose rest must be skipped
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
