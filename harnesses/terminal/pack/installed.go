package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// Installed is a pack in a Store.
type Installed struct {
	Harness string
	Pack    *Pack // the content of the pack; nil if its file cannot be read
	Wrong   error // why the pack is not used; nil if it is used
}

// AtLeast reports whether the installed pack is for the same harness as the pack in `data`, and has the
// same serial or a higher one.
func (i Installed) AtLeast(file string, data []byte) bool {
	p, _ := Check(file, data)
	return p != nil && i.Pack != nil && i.Harness == p.Harness && i.Pack.Serial >= p.Serial
}

// Installed returns all packs of the Store, at most one for each harness. Coleo does not use a pack
// that fails a check of Add at the given time. Such a pack is in the result, with the reason.
func (s Store) Installed(now time.Time) ([]Installed, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the folder of packs: %w", err)
	}
	var out []Installed
	for _, entry := range entries {
		harness, is := strings.CutSuffix(entry.Name(), packEnd)
		if !is || !harnessName.MatchString(harness) {
			continue
		}
		p, err := s.load(harness, now)
		if err != nil {
			err = fmt.Errorf("the pack for %s is not used: %w", harness, err)
		}
		out = append(out, Installed{Harness: harness, Pack: p, Wrong: err})
	}
	return out, nil
}

func (s Store) load(harness string, now time.Time) (*Pack, error) {
	data, err := s.readFile(harness+packEnd, MaxSize)
	if err != nil {
		return nil, err
	}
	e, err := unwrap(harness+packEnd, data)
	if err == nil {
		err = e.verify(harness + packEnd)
	}
	if err == nil {
		err = s.checkTrusted(e.key)
	}
	if err != nil {
		return nil, err
	}
	p, err := e.read(harness+packEnd, data)
	if err != nil {
		return nil, err
	}
	if p.Harness != harness {
		return p, coleo.Errorf(coleo.EForbidden, "the file %s is a pack for %s", harness+packEnd, p.Harness)
	}
	switch m, err := s.markOf(harness); {
	case err != nil:
		return p, err
	case m.serial == 0:
		return p, coleo.Errorf(coleo.EForbidden, "it was put there by hand: 'coleo harness pack add' installs a pack")
	}
	if problems := s.Problems(p, now); len(problems) > 0 {
		return p, problems[0]
	}
	return p, nil
}

// Stamp returns a text that changes whenever the result of Installed may change.
func (s Store) Stamp(now time.Time) string {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err.Error()
	}
	out := []string{now.UTC().Format(time.DateOnly)} // the day, because a pack expires at the end of a day
	for _, entry := range entries {
		info, err := os.Lstat(s.dir + "/" + entry.Name())
		if err != nil || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		out = append(out, fmt.Sprintf("%s %d %d %v", entry.Name(), info.Size(), info.ModTime().UnixNano(), info.Mode()))
	}
	if info, err := os.Stat(s.dir); err == nil {
		out = append(out, info.Mode().String())
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
