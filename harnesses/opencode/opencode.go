// Package opencode drives OpenCode's terminal program. harness.toml describes its screen.
// The code finds its conversations and reads them.
package opencode

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
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
	}
}

// created matches the line of the log (1.18.33) that names a new conversation which is
// not part of another.
var created = regexp.MustCompile(`^timestamp=(\S+) .* message=created id=(ses_\w+) .* directory=(.*?) path=.* parentID=undefined `)

// maxLine bounds a line of the log, in bytes. Reading stops at a longer one.
const maxLine = 1 << 20

// conversation returns the id of the newest conversation that began in the work folder
// since the start; "" before the first prompt.
func conversation(f terminal.Facts, folder string) (string, error) {
	logs, err := filepath.Glob(filepath.Join(f.Home, ".local", "share", folder, "log", "*.log"))
	if err != nil {
		return "", err
	}
	id, newest := "", f.Started
	for _, path := range logs {
		file, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("read log: %w", err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			m := created.FindStringSubmatch(lines.Text())
			if m == nil || m[3] != f.Workdir {
				continue
			}
			if at, err := time.Parse(time.RFC3339Nano, m[1]); err == nil && !at.Before(newest) {
				id, newest = m[2], at
			}
		}
		file.Close()
	}
	return id, nil
}
