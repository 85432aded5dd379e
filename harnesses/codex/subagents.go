package codex

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// findSubagents returns a function that finds the rollouts of a conversation's subagents. The first line of
// such a rollout names the conversation. No subagent is older than its conversation, so the function skips
// the folders of the days before the conversation began.
func findSubagents(path string, w record.Where) func() (records, folders []string) {
	f := &rolloutFinder{own: path, conversation: w.Conversation, days: map[string]time.Time{}, seen: map[string]bool{}}
	return func() ([]string, []string) {
		f.look()
		return f.found, nil
	}
}

// rolloutFinder remembers which rollouts it has already checked.
type rolloutFinder struct {
	own, conversation string
	days              map[string]time.Time // when each day's folder was last changed, by its path
	seen              map[string]bool      // paths of rollouts that need no second check
	found             []string             // the rollouts of subagents
}

// settled is how long a folder must be unchanged before Coleo remembers its modification time. Coleo then
// skips the folder until this time changes. Two quick changes can leave the same modification time, so that
// Coleo would miss the second change. One second is longer than the resolution of modification times.
const settled = time.Second

// look searches for new rollouts.
func (f *rolloutFinder) look() {
	first := filepath.Dir(f.own)
	days := []string{filepath.Dir(filepath.Dir(filepath.Dir(first)))}
	for range 3 { // one step for each level of folders: years, months and days
		days = below(days, first)
	}
	for _, day := range days {
		info, err := os.Stat(day)
		if err != nil || info.ModTime().Equal(f.days[day]) {
			continue
		}
		if time.Since(info.ModTime()) > settled {
			f.days[day] = info.ModTime()
		}
		entries, _ := os.ReadDir(day) // after an error, the list contains the entries that were read before it
		for _, e := range entries {
			f.lookAt(filepath.Join(day, e.Name()))
		}
	}
}

// below returns the subfolders of the given folders, but leaves out those that are older than `first`. The
// path of a day's folder, such as sessions/2026/03/07, sorts by date. So below compares each path with
// `first`, cut to the same length: sessions/2026 is older than sessions/2027/01/31, and sessions/2027 is
// not.
func below(folders []string, first string) (out []string) {
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if path := filepath.Join(folder, e.Name()); e.IsDir() && path >= first[:min(len(path), len(first))] {
				out = append(out, path)
			}
		}
	}
	return out
}

// lookAt checks one rollout. If its first line is incomplete, a later call checks it again.
func (f *rolloutFinder) lookAt(path string) {
	if f.seen[path] || path <= f.own || threadIn(path) == "" {
		return
	}
	conversation, whole := conversationIn(path)
	if !whole {
		delete(f.days, filepath.Dir(path))
		return
	}
	if f.seen[path] = true; conversation == f.conversation {
		f.found = append(f.found, path)
	}
}

// threadIn returns the id of the thread whose rollout is at path, or "" if the file is no rollout.
func threadIn(path string) string {
	if m := rolloutName.FindStringSubmatch(filepath.Base(path)); m != nil {
		return m[1]
	}
	return ""
}

// longestHead is the largest size of the first line of a rollout, in bytes. The line contains the
// whole system prompt.
const longestHead = 4 << 20

// conversationIn returns the id of the conversation to which the rollout of a subagent belongs. It
// returns "" for any other rollout. If the first line is not complete yet, whole is false.
func conversationIn(path string) (id string, whole bool) {
	var head struct {
		Payload struct {
			Session string `json:"session_id"` // id of the user's conversation
			Thread  string `json:"id"`
		} `json:"payload"`
	}
	line, whole, err := firstLine(path)
	if err != nil || json.Unmarshal(line, &head) != nil {
		return "", whole
	}
	if head.Payload.Session == head.Payload.Thread {
		return "", true
	}
	return head.Payload.Session, true
}

// firstLine returns the first line of a rollout. The result `whole` is false if the line is not complete yet. The
// error is io.EOF if the line is not complete, or too long.
func firstLine(path string) (line []byte, whole bool, err error) {
	file, err := terminal.OpenWritten(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	line, err = bufio.NewReader(io.LimitReader(file, longestHead)).ReadBytes('\n')
	return line, err == nil || len(line) == longestHead, err
}
