package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// EachEntry reads a transcript of JSON lines and calls take with each entry. It skips
// lines that are not JSON of type T, and a last line without a line end, which is still
// being written. It returns an error only when the file cannot be opened.
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
