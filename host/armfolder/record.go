package armfolder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/store"
	"coleo.dev/wholefile"
)

// RecordFile is the name of a file with a copy of the arm's record. Coleo reads this copy if the
// database is lost or was restored from an old backup.
const RecordFile = "arm.json"

// Kept is the content of RecordFile.
type Kept struct {
	Host   string          `json:"host"` // the id of the host that drives the arm
	Record store.ArmRecord `json:"record"`
}

// Read reads the copy of an arm's record in a state folder. It returns fs.ErrNotExist if there is
// no copy, and EInvalid if the file is about another arm.
func Read(dir, id string) (Kept, error) {
	var kept Kept
	path := Of(dir, id).File(RecordFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return kept, err
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		return kept, fmt.Errorf("read %s: %w", path, err)
	}
	if kept.Record.ID != id {
		return kept, coleo.Errorf(coleo.EInvalid, "%s is about arm %q: the file is ignored", path, kept.Record.ID)
	}
	return kept, nil
}

// List returns the ids of the arms that have a folder in a state folder.
func List(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, "arms"))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// LastID returns the id of the host agent that last used a state folder. It reads the id from the
// folders of the arms. It returns "" if no folder contains the id of a host agent.
func LastID(dir string) string {
	for _, id := range List(dir) {
		if kept, err := Read(dir, id); err == nil && kept.Host != "" && kept.Host != coleo.LocalHost {
			return kept.Host
		}
	}
	return ""
}

// LocalArm describes an arm that serve itself drives.
type LocalArm struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// LocalArms returns the running arms of host local in a state folder. An arm runs if the kernel
// shows the process of its holder. LocalArms sends nothing to the holders.
func LocalArms(dir string) []LocalArm {
	out := []LocalArm{}
	for _, id := range List(dir) {
		kept, err := Read(dir, id)
		if err != nil || kept.Host != coleo.LocalHost || kept.Record.Handle == nil ||
			process.Look(kept.Record.Handle.Holder) == process.Dead {
			continue
		}
		out = append(out, LocalArm{ID: id, Name: kept.Record.Name})
	}
	return out
}

// HasLocal reports whether the folder of any arm names host local.
func HasLocal(dir string) bool {
	for _, id := range List(dir) {
		if kept, err := Read(dir, id); err == nil && kept.Host == coleo.LocalHost {
			return true
		}
	}
	return false
}

// writeWhole replaces a file that only its owner can read. It returns when the file is on the disk.
func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Replace(path, data, wholefile.OwnerOnly)
}

// Write writes the copy of the arm's record. If it fails, the old copy stays. If durable is true,
// the new copy survives a loss of power.
func (f Folder) Write(kept Kept, durable bool) error {
	raw, err := json.Marshal(kept)
	path := f.File(RecordFile)
	switch {
	case err != nil:
	case durable:
		err = writeWhole(path, raw)
	default:
		err = replaceFile(path, raw)
	}
	if err != nil {
		return fmt.Errorf("write down arm %s in its folder: %w", kept.Record.Name, err)
	}
	return nil
}

// replaceFile replaces a file in an arm's folder. It does not wait until the file is on the disk.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
