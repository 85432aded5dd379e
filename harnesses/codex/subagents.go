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

// findSubagents returns a function that finds the rollouts of a conversation's subagents. Each
// rollout names its conversation in its first line. The function skips the folders of days before the
// conversation began, because no subagent is older than its conversation.
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
	days              map[string]time.Time // the folders of days, with their times of change
	seen              map[string]bool      // the rollouts whose conversation is known, by path
	found             []string             // the rollouts of subagents
}

// settled is how long a folder must be unchanged before Coleo skips it. Two quick changes can leave
// the same time of change, so the second would go unnoticed. One second is longer than the
// resolution of that time.
const settled = time.Second

// look searches for new rollouts.
func (f *rolloutFinder) look() {
	first := filepath.Dir(f.own)
	days := []string{filepath.Dir(filepath.Dir(filepath.Dir(first)))}
	for range 3 { // levels of folders: years, months and days
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
		entries, _ := os.ReadDir(day) // after an error, use the entries that were read
		for _, e := range entries {
			f.lookAt(filepath.Join(day, e.Name()))
		}
	}
}

// below returns the subfolders of the given folders. It leaves out folders with a smaller path than
// the path in the parameter `first`. It compares each path only with the beginning of `first` that
// has the same length.
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
	file, err := terminal.OpenWritten(path)
	if err != nil {
		return "", false
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, longestHead)).ReadBytes('\n')
	if err != nil {
		return "", len(line) == longestHead
	}
	if json.Unmarshal(line, &head) != nil {
		return "", true
	}
	if head.Payload.Session == head.Payload.Thread {
		return "", true
	}
	return head.Payload.Session, true
}
