package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/paths"
)

// labelsFile is the name of the file with the labels of all recordings in a folder.
const labelsFile = "labels.txt"

// writeLabels replays the recordings in a folder, and writes one label per recording to the file
// labelsFile. A label lists the states that the harness reads in the recording. The tests of
// harnesses use the same format.
func writeLabels(h coleo.Harness, dir string) error {
	th, ok := h.(*terminal.Harness)
	if !ok {
		return nil // only a harness of the type terminal.Harness reads a screen
	}
	casts, err := filepath.Glob(filepath.Join(paths.Quote(dir), "*.cast"))
	if err != nil {
		return fmt.Errorf("find the recordings in %s: %w", dir, err)
	}
	var b strings.Builder
	b.WriteString("# States over time: seconds and state, and a dialog's title.\n")
	for _, path := range casts {
		in, err := openInput(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".cast")
		fmt.Fprintf(&b, "%s: %s\n", name, th.Label(reading.Recording{Cast: in.cast, Until: -1}))
	}
	return os.WriteFile(filepath.Join(dir, labelsFile), []byte(b.String()), 0o600)
}
