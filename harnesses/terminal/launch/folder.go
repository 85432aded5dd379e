package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/wholefile"
)

// foldersFile is the name of a file in the arm's folder. No sandbox shows this file. For the work folder of
// each sandboxed start, the file maps the path in the configuration to the path without symbolic links.
const foldersFile = "sandbox-folders.json"

// checkSameFolder checks that the path of a work folder still leads to the folder of the arm's first
// sandboxed start. A sandboxed agent CLI can write in its work folder. If the work folder of another arm is
// inside this folder, the agent CLI can replace the inner folder by a link. startDir is the folder of this
// start, and `real` is the path of the work folder without links.
func checkSameFolder(startDir, named, real string) error {
	path := filepath.Join(filepath.Dir(startDir), foldersFile)
	known := map[string]string{}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the work folder of earlier starts: %w", err)
	}
	if was := known[named]; was == real {
		return nil
	} else if was != "" {
		return coleo.Errorf(coleo.EUnsupported, "nothing was started: the work folder %s leads to %s now, and led to %s "+
			"before: a sandboxed agent CLI can have changed that; to work there, start another arm", named, real, was)
	}
	known[named] = real
	if raw, err = json.Marshal(known); err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = wholefile.Replace(path, raw, wholefile.OwnerOnly)
	}
	return err
}
