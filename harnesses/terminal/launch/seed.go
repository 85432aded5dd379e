package launch

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tidwall/sjson"

	"coleo.dev"
	"coleo.dev/wholefile"
)

// seedHome writes the files into a hermetic HOME. It does nothing for any other HOME.
func seedHome(facts launchFacts, files map[string]string) error {
	if !facts.Hermetic {
		return nil
	}
	for name, text := range files {
		existed, err := seed(filepath.Join(facts.Home, name), text)
		if err == nil && existed {
			err = seedServers(facts, name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seed writes a file into a hermetic HOME. It does not change an existing file, because the agent CLI may
// have written to it. If this process is killed, either the whole file exists or no file. seed reports
// whether the file existed.
func seed(path, content string) (existed bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fmt.Errorf("seed HOME: %w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return true, nil
	}
	next := temporary(path)
	defer os.Remove(next)
	if err := wholefile.Replace(next, []byte(content), wholefile.OwnerOnly); err != nil {
		return false, fmt.Errorf("seed HOME: %w", err)
	}
	err = os.Link(next, path) // fails if the file exists now
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("seed HOME: %w", err)
	}
	return err != nil, nil
}

// temporary returns the name of a new file that will replace the file at `path`.
func temporary(path string) string { return path + ".coleo-" + rand.Text() }

// seedServers makes an existing settings file in a hermetic HOME name the MCP servers of this start. Another arm may
// have used the HOME before, with servers of its own. seedServers changes nothing else in the file. It follows no
// link out of HOME, because an agent CLI in a sandbox can make links there.
func seedServers(facts launchFacts, name, content string) error {
	names := map[string]bool{}
	for _, m := range facts.MCPServers {
		names[m.Name] = true
	}
	wanted := serverSettings([]byte(content), names, nil)
	if filepath.Ext(name) != ".json" || len(wanted) == 0 {
		return nil
	}
	if err := replaceServers(facts.Home, name, wanted); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "nothing was started, because the MCP servers of this start cannot be "+
			"written to %s: %v", filepath.Join(facts.Home, name), err)
	}
	return nil
}

// replaceServers replaces the settings of MCP servers in a file in the folder `home`.
func replaceServers(home, name string, wanted []serverSetting) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	raw, mode, err := readIn(root, name)
	if err != nil {
		return err
	}
	changed := raw
	for _, w := range wanted {
		if changed, err = sjson.SetRawBytes(changed, jsonPath(w.keys), w.value); err != nil {
			return err
		}
	}
	if bytes.Equal(changed, raw) {
		return nil
	}
	next := temporary(name)
	defer func() { _ = root.Remove(next) }()
	if err := root.WriteFile(next, changed, mode); err != nil {
		return err
	}
	return root.Rename(next, name)
}

// serverSetting is the settings of one MCP server in a JSON file, and the keys that lead to them.
type serverSetting struct {
	keys  []string
	value json.RawMessage
}

// serverSettings returns the settings of the named MCP servers in a JSON object. `keys` are the keys that lead to
// the object.
func serverSettings(object []byte, names map[string]bool, keys []string) (out []serverSetting) {
	var table map[string]json.RawMessage
	if json.Unmarshal(object, &table) != nil {
		return nil
	}
	for key, value := range table {
		path := append(keys[:len(keys):len(keys)], key)
		if names[key] {
			out = append(out, serverSetting{path, value})
		} else {
			out = append(out, serverSettings(value, names, path)...)
		}
	}
	return out
}

// readIn returns the content and the mode of a file with a JSON object below a folder.
func readIn(root *os.Root, name string) ([]byte, fs.FileMode, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: opening a FIFO must not block
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxSettingsFile) {
		err = errors.New("it is not a settings file")
	}
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(io.LimitReader(file, maxSettingsFile))
	}
	var object map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &object)
	}
	if err != nil {
		return nil, 0, err
	}
	return raw, info.Mode().Perm(), nil
}
