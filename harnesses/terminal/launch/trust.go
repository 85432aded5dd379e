package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/sjson"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/wholefile"
)

// trustWorkdir marks the work folder as trusted in one of the user's files. It replaces the file
// atomically, and does not change the file's other bytes.
func trustWorkdir(t *rules.Trust, c *coleo.SpawnConfig, facts launchFacts) error {
	if t.File == "" || !c.TrustWorkdir || facts.Hermetic {
		return nil
	}
	folder := Home(c)
	if named := lookupEnv(c.Environ, t.FolderEnv); named != "" && t.FolderEnv != "" {
		folder = named
	}
	if real, err := filepath.EvalSymlinks(facts.Workdir); err == nil {
		facts.Workdir = real // the path that the agent CLI sees
	}
	keys := make([]string, len(t.Path))
	for i, key := range t.Path {
		text, err := rules.Render(key, facts)
		if err != nil {
			return err
		}
		keys[i] = text
	}
	return writeTrue(filepath.Join(folder, t.File), keys)
}

// writeTrue sets a value in a JSON file to true. The parameter `keys` contains the keys that lead
// to the value, outermost first.
func writeTrue(path string, keys []string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // write the target of a link, and keep the link
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // reading a pipe would not end
		return coleo.Errorf(coleo.EUnsupported, "trust the work folder: %s is not a file", path)
	}
	raw, err := os.ReadFile(path)
	switch info, statErr := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		raw = []byte("{}\n")
	case err != nil:
		return fmt.Errorf("trust the work folder: %w", err)
	case statErr == nil:
		mode = info.Mode().Perm()
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return coleo.Errorf(coleo.EInvalid, "trust the work folder: %s has an unexpected form and was not changed (%v)",
			path, err)
	}
	changed, err := sjson.SetBytes(raw, jsonPath(keys), true)
	if err != nil {
		return fmt.Errorf("trust the work folder in %s: %w", path, err)
	}
	if bytes.Equal(raw, changed) {
		return nil
	}
	if err := wholefile.Replace(path, changed, mode); err != nil {
		return fmt.Errorf("trust the work folder: %w", err)
	}
	return nil
}

// jsonPath joins keys to a path in the syntax of sjson. It escapes all ASCII characters except
// letters and digits.
func jsonPath(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteByte('.')
		}
		for j := range len(key) {
			if c := key[j]; c < 0x80 && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
				b.WriteByte('\\')
			}
			b.WriteByte(key[j])
		}
	}
	return b.String()
}
