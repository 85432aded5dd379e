package config

import (
	"errors"
	"fmt"
	"io/fs"

	"coleo.dev"
)

// Settings is config.toml. Everything may be left out.
type Settings struct {
	Version int `toml:"version"`

	// Arms says what an arm gets when nobody says otherwise.
	Arms struct {
		Harness  string `toml:"harness"`
		Provider string `toml:"provider"`
		Model    string `toml:"model"`
		MaxArms  int    `toml:"max_arms"` // per host; 10
		Keep     int64  `toml:"keep_mib"` // of each arm's output, at least; 256
		// AllowSudo lets agent CLIs use sudo where that lets them type into
		// their own terminal too: see docs/security.md.
		AllowSudo bool `toml:"allow_sudo"`
		// OnPartition says what becomes of an arm that serve cannot reach; run.
		OnPartition coleo.OnPartition `toml:"on_partition"`
	} `toml:"arms"`

	// Serve says where the API listens.
	Serve struct {
		Addr string `toml:"addr"` // DefaultAddr where nobody names one
	} `toml:"serve"`

	// Agents says where agent CLIs are looked for before PATH.
	Agents struct {
		Path []string `toml:"path"`
	} `toml:"agents"`

	// Notify is run, by the shell, when an arm asks something, and when a turn has
	// finished, failed or died. The environment says what has happened: docs/cli.md.
	Notify string `toml:"notify"`
}

// Bounds of arms.keep_mib, in MiB: a segment of a journal is 4 MiB, and a
// terabyte is a slip.
const (
	minKeep     = 4
	defaultKeep = 256
	maxKeep     = 1 << 20
)

// DefaultAddr is where the API listens when nobody names an address. Another
// program may have it: then serve takes a free port.
const DefaultAddr = "127.0.0.1:8080"

// ReadSettings reads config.toml; a file that is not there says nothing.
func ReadSettings(path string) (Settings, error) {
	s := Settings{}
	data, err := ReadOwn(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("read settings: %w", err)
	}
	if err := Decode(path, data, &s); err != nil {
		return s, err
	}
	if s.Arms.Keep != 0 && (s.Arms.Keep < minKeep || s.Arms.Keep > maxKeep) {
		return s, Errorf(path, data, "arms.keep_mib", "keep_mib = %d is not between %d and %d", s.Arms.Keep, minKeep, maxKeep)
	}
	if !s.Arms.OnPartition.Valid() {
		return s, Errorf(path, data, "arms.on_partition", "on_partition = %q is neither %q nor %q", s.Arms.OnPartition, coleo.PartitionRun, coleo.PartitionFreeze)
	}
	if s.Arms.Keep == 0 {
		s.Arms.Keep = defaultKeep
	}
	if s.Arms.MaxArms == 0 {
		s.Arms.MaxArms = 10
	}
	return s, nil
}
