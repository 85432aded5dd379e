package past

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// keptSize is the content of the file that KeepSize writes.
type keptSize struct {
	Nonce string `json:"nonce"`
	Size
}

func (f Folder) sizePath() string { return filepath.Join(f.dir, "size") }

// KeepSize stores the original size of a terminal before the terminal is resized for a moment. If
// the resizing process is killed meanwhile, the next process finds the original size here.
func (f Folder) KeepSize(s Size) error {
	raw, err := json.Marshal(keptSize{f.nonce, s})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(f.sizePath(), raw, 0o600)
}

// KeptSize returns the size that KeepSize stored for this generation, or false if there is none.
func (f Folder) KeptSize() (s Size, ok bool) {
	raw, err := os.ReadFile(f.sizePath())
	if err != nil {
		return Size{}, false
	}
	var kept keptSize
	if json.Unmarshal(raw, &kept) != nil || kept.Nonce != f.nonce {
		return Size{}, false
	}
	return kept.Size, kept.Cols > 0 && kept.Rows > 0
}

// DropSize deletes the size that KeepSize stored. It does nothing if no size is stored.
func (f Folder) DropSize() { _ = os.Remove(f.sizePath()) }
