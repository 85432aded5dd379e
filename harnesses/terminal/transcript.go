package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// EachEntry calls take for each entry of a transcript of JSON lines. It skips lines that are not
// JSON of type T. It also skips a last line without a line end, because the agent CLI is still
// writing that line. It returns an error only if it cannot open the file.
func EachEntry[T any](path string, take func(T)) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	for r := bufio.NewReader(file); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var entry T
		if json.Unmarshal(line, &entry) == nil {
			take(entry)
		}
	}
}

// transcriptAnswer returns the model's last text after a prompt, if that prompt is the last one in
// the transcript. The text is empty until the transcript contains it.
func transcriptAnswer(t *rules.Transcript, f Facts, r coleo.Receipt) (coleo.Answer, error) {
	path, err := transcriptPath(t, f)
	if err != nil || path == "" {
		return coleo.Answer{}, err
	}
	if info, err := os.Stat(path); err != nil || info.ModTime().Before(r.Time) {
		return coleo.Answer{}, nil // the file contains no entry of this turn
	}
	search := t.Search(r.Text)
	err = EachEntry(path, search.Take)
	return coleo.Answer{Text: search.Answer(), Source: "transcript"}, err
}

// transcriptPath returns the path of the conversation's transcript, or "" if no file matches. Of
// several files, it returns the one whose name sorts last.
func transcriptPath(t *rules.Transcript, f Facts) (string, error) {
	if f.Conversation == "" && strings.Contains(t.File, "{id}") {
		return "", nil
	}
	found, err := filepath.Glob(filepath.Join(f.Home, strings.ReplaceAll(t.File, "{id}", f.Conversation)))
	if err != nil {
		return "", fmt.Errorf("find transcript: %w", err)
	}
	return slices.Max(append(found, "")), nil
}
