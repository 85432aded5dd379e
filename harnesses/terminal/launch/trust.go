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
	"sync"

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
	return writeTrue(filepath.Join(userFolder(c, t.FolderEnv, Home(c)), t.File), keys)
}

// writeTrue sets a value in a JSON file to true. The parameter `keys` contains the keys that lead
// to the value, outermost first.
func writeTrue(path string, keys []string) error {
	return editJSON(path, func(raw []byte) ([]byte, error) { return sjson.SetBytes(raw, jsonPath(keys), true) })
}

// editing is held while this process changes a user's file. Several arms that start at the same time change the same
// file.
var editing sync.Mutex

// editJSON replaces the content of a JSON file by the result of the function `edit`. The agent CLI can replace the
// file at any time. So editJSON looks at the file again right before it replaces the file, and calls `edit` again if
// the file has changed.
func editJSON(path string, edit func(raw []byte) ([]byte, error)) error {
	editing.Lock()
	defer editing.Unlock()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // write the target of a link, and keep the link
	}
	for range mostEdits {
		raw, mode, err := readJSON(path)
		if err != nil {
			return err
		}
		changed, err := edit(raw)
		if err != nil {
			return fmt.Errorf("trust the work folder in %s: %w", path, err)
		}
		if bytes.Equal(raw, changed) {
			return nil
		}
		if replaced, err := replaceIf(path, raw, changed, mode); replaced || err != nil {
			return err
		}
	}
	return coleo.Errorf(coleo.EBusy, "trust the work folder: another program keeps changing %s", path)
}

// replaceIf replaces the content of a file if the file still has the content `was`. It reports whether the file had
// that content. It puts the new content on the disk first, because that takes most of the time.
func replaceIf(path string, was, content []byte, mode fs.FileMode) (replaced bool, err error) {
	next := temporary(path)
	err = wholefile.Replace(next, content, mode)
	if err == nil {
		now, _, changed := readJSON(path)
		if replaced = changed == nil && bytes.Equal(now, was); replaced {
			err = os.Rename(next, path)
		}
	}
	if !replaced || err != nil {
		_ = os.Remove(next)
	}
	if err != nil {
		err = fmt.Errorf("trust the work folder: %w", err)
	}
	return replaced, err
}

// mostEdits is the largest number of times that editJSON tries to change a file. An agent CLI writes its file
// only a few times a second.
const mostEdits = 20

// mostEdited is the size in bytes of the largest file that editJSON changes. Claude Code's own file has some megabytes
// after long use. An agent CLI in a sandbox can give the file any size without writing data.
const mostEdited = 64 << 20

// readJSON returns the content and the mode of a file with a JSON object. If the file is missing, the content
// is an empty object.
func readJSON(path string) ([]byte, fs.FileMode, error) {
	raw, mode, err := readRegular(path, mostEdited)
	if errors.Is(err, fs.ErrNotExist) {
		return []byte("{}\n"), wholefile.OwnerOnly, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("trust the work folder: %w", err)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, 0, coleo.Errorf(coleo.EInvalid,
			"trust the work folder: %s has an unexpected form and was not changed (%v)", path, err)
	}
	return raw, mode, nil
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
