package pricebook

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"coleo.dev"
)

// Keeper provides the current Book. It reads the file with the fetched prices again when the file
// changes. It is safe for concurrent use.
type Keeper struct {
	path string
	own  map[string]coleo.Price
	log  *slog.Logger

	mu   sync.Mutex
	at   time.Time // the time when the file was last changed; zero if there is no file
	size int64
	book *Book
}

// NewKeeper returns a Keeper for the user's own prices and for the file at `path`, which Refresh writes. If
// the file is damaged, the Keeper logs this and ignores the file.
func NewKeeper(own map[string]coleo.Price, path string, log *slog.Logger) *Keeper {
	return &Keeper{path: path, own: own, log: log}
}

// Book returns the book with all prices.
func (k *Keeper) Book() *Book {
	k.mu.Lock()
	defer k.mu.Unlock()
	var at time.Time
	var size int64
	if info, err := os.Stat(k.path); err == nil {
		at, size = info.ModTime(), info.Size()
	}
	if k.book != nil && at.Equal(k.at) && size == k.size {
		return k.book
	}
	fetched, err := Load(k.path)
	if err != nil {
		k.log.Warn("read the fetched prices", "error", err)
	}
	k.at, k.size, k.book = at, size, New(k.own, fetched, BuiltIn())
	return k.book
}
