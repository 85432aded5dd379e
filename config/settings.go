package config

import (
	"errors"
	"fmt"
	"io/fs"

	"coleo.dev"
)

// Settings is the content of config.toml. Every key may be left out.
type Settings struct {
	Version int `toml:"version"`

	// Arms has the defaults for new arms.
	Arms struct {
		Harness  string `toml:"harness"`
		Provider string `toml:"provider"`
		Model    string `toml:"model"`
		MaxArms  int    `toml:"max_arms"` // per host; default 10
		Keep     int64  `toml:"keep_mib"` // minimum output that is kept for each arm, in MiB; default 256
		// AllowSudo allows agent CLIs to use sudo, even if they can then type into
		// their own terminal. See docs/security.md.
		AllowSudo bool `toml:"allow_sudo"`
		// OnPartition says what happens to an arm while serve cannot reach it. The
		// default is run.
		OnPartition coleo.OnPartition `toml:"on_partition"`
	} `toml:"arms"`

	// Serve has the settings of serve.
	Serve struct {
		Addr string `toml:"addr"` // address of the API; default DefaultAddr
	} `toml:"serve"`

	// Agents has the folders in which agent CLIs are looked up before PATH.
	Agents struct {
		Path []string `toml:"path"`
	} `toml:"agents"`

	// Packs says where newer packs are. See docs/packs.md.
	Packs struct {
		// Folder is where 'coleo harness pack update' looks. Without it, nothing is
		// looked for.
		Folder string `toml:"folder"`
	} `toml:"packs"`

	// Notify is a shell command. Serve runs the command when an arm asks something, and
	// when a run has ended, whatever its outcome. The command's environment describes
	// the event: see docs/cli.md.
	Notify string `toml:"notify"`
}

// minKeep and maxKeep are the limits of arms.keep_mib, in MiB. A segment of a journal
// is 4 MiB. A value above a terabyte is probably a typing error.
const (
	minKeep     = 4
	defaultKeep = 256
	maxKeep     = 1 << 20
)

// DefaultAddr is the default address of the API. If another program uses this address,
// serve takes a free port.
const DefaultAddr = "127.0.0.1:8080"

// ReadSettings reads config.toml. A missing file means that all settings have their
// defaults. It returns EForbidden for an unsafe file (see ReadOwn). It returns EInvalid
// for a bad file.
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
		return s, Errorf(path, data, "arms.keep_mib", "keep_mib = %d is not between %d and %d", s.Arms.Keep, minKeep,
			maxKeep)
	}
	if !s.Arms.OnPartition.Valid() {
		return s, Errorf(path, data, "arms.on_partition", "on_partition = %q is neither %q nor %q",
			s.Arms.OnPartition, coleo.PartitionRun, coleo.PartitionFreeze)
	}
	if s.Arms.Keep == 0 {
		s.Arms.Keep = defaultKeep
	}
	if s.Arms.MaxArms == 0 {
		s.Arms.MaxArms = 10
	}
	return s, nil
}
