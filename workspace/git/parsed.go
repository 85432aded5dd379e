package git

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// mostParsed is the largest number of configurations that are kept. Each takes some kilobytes, and a
// host agent works in fewer repositories.
const mostParsed = 64

// parsedKey identifies a configuration by its bytes and by the git program that parsed it. A changed
// configuration has a new key, so kept settings never become out of date.
type parsedKey struct {
	program string
	content [sha256.Size]byte
	modules bool // the file is a .gitmodules; its settings are names of submodules, by their paths
}

// parsedConfigs keeps the harmless settings of configurations, so that opening a repository again
// does not start git. Several goroutines may call its methods at the same time.
type parsedConfigs struct {
	mu   sync.Mutex
	kept map[parsedKey][]setting
}

// parsed is shared by all Programs of this process, because each operation on a worktree makes a new Program.
var parsed parsedConfigs

// get returns a copy of the settings that put has stored.
func (c *parsedConfigs) get(key parsedKey) ([]setting, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.kept[key]
	return slices.Clone(kept), ok
}

// put stores the settings of one configuration. If mostParsed configurations are stored already, put
// first deletes all of them.
func (c *parsedConfigs) put(key parsedKey, settings []setting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostParsed {
		c.kept = map[parsedKey][]setting{}
	}
	c.kept[key] = slices.Clone(settings)
}
