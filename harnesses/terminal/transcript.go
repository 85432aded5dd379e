package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// EachEntry reads a transcript of JSON lines and calls take with each entry. A
// line that is not of that form is left out, and so is one that is still being
// written: it has no end yet.
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
