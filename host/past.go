package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
)

// screen returns an arm's live screen, or its screen at an earlier time.
func (h *Host) screen(_ context.Context, o bus.ScreenOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if o.History > 0 && o.At.IsZero() {
		// A live screen has no history, and an ended arm has no live screen. So read
		// the recording.
		o.At = time.Now()
	}
	if !o.At.IsZero() {
		s, err := a.screenAt(o.At)
		s.History = lastLines(s.History, o.History)
		return s, err
	}
	s, err := a.live()
	if err != nil {
		return nil, err
	}
	t, ok := s.(coleo.Terminal)
	if !ok {
		return nil, a.noTerminal()
	}
	return t.Screen(), nil
}

// historyBytes bounds the history lines that come with a screen. The bus limits the size
// of an answer.
const historyBytes = 2 << 20

// lastLines returns the last lines. It returns no more lines than the parameter most
// allows, and at most historyBytes in total.
func lastLines(lines []string, most int) []string {
	first, size := len(lines), 0
	for first > 0 && len(lines)-first < most && size+len(lines[first-1]) <= historyBytes {
		first--
		size += len(lines[first])
	}
	return lines[first:]
}

// screenAt returns the screen as it was at the given time. It asks the last generation
// first. If the time is before the oldest output of this generation, screenAt asks the
// previous generation, and so on. If the generation had already ended at this time,
// there is no screen.
func (a *arm) screenAt(at time.Time) (coleo.Screen, error) {
	r, last, err := a.recorder()
	if err != nil {
		return coleo.Screen{}, err
	}
	s, err := r.ScreenAt(last, at)
	for _, handle := range slices.Backward(a.earlier(last)) {
		if coleo.ErrorCode(err) != coleo.EInvalid {
			break
		}
		if exit, exitErr := holder.ReadExit(handle.Dir); exitErr == nil && exit != nil && exit.Time.Before(at) {
			break
		}
		s, err = r.ScreenAt(handle, at)
	}
	return s, err
}

// recording returns a piece of the arm's terminal recording. It also works after the
// arm has ended.
func (h *Host) recording(_ context.Context, o bus.RecordOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	r, handle, err := a.recorder()
	if err != nil {
		return nil, err
	}
	if o.Generation == 0 || o.Generation == handle.Generation {
		return r.Record(handle, o.From)
	}
	kept := a.earlier(handle)
	i := slices.IndexFunc(kept, func(h coleo.Handle) bool { return h.Generation == o.Generation })
	if i < 0 {
		oldest := append(kept, handle)[0].Generation
		return nil, coleo.Errorf(coleo.EInvalid, "start %d of arm %s is not kept: starts %d to %d are",
			o.Generation, a.name(), oldest, handle.Generation)
	}
	return r.Record(kept[i], o.From)
}

// recorder returns the reader of the arm's terminal recording and the handle of the last
// generation.
func (a *arm) recorder() (coleo.Recorder, coleo.Handle, error) {
	a.mu.Lock()
	record := a.record
	a.mu.Unlock()
	if record.Handle == nil {
		return nil, coleo.Handle{}, coleo.Errorf(coleo.EExited, "arm %s has never run", record.Name)
	}
	harness, err := a.host.Registry.Get(record.Handle.Harness)
	if err != nil {
		return nil, coleo.Handle{}, err
	}
	r, ok := harness.(coleo.Recorder)
	if !ok {
		return nil, coleo.Handle{}, a.noTerminal()
	}
	return r, *record.Handle, nil
}

func (a *arm) noTerminal() error {
	return coleo.Errorf(coleo.EUnsupported, "arm %s has no screen: its harness uses HTTP", a.name())
}

// earlier returns handles of the generations before last, oldest first. It leaves out
// generations whose journals have been deleted. The handles have only the fields that
// are needed to read a recording.
func (a *arm) earlier(last coleo.Handle) []coleo.Handle {
	var out []coleo.Handle
	for n := 1; n < last.Generation; n++ {
		dir := a.dirOf(n)
		if _, err := os.Stat(holder.JournalDir(dir)); err == nil {
			out = append(out, coleo.Handle{Harness: last.Harness, Arm: last.Arm, Generation: n, Dir: dir})
		}
	}
	return out
}

// thin deletes the output of earlier generations, oldest first, until the rest has at most
// Config.Keep bytes. It leaves alone a generation that still has a process in its folder,
// such as a holder that has never proved its identity. The last generation must have ended
// when thin is called. thin keeps its output.
func (a *arm) thin() error {
	a.mu.Lock()
	handle := a.record.Handle
	a.mu.Unlock()
	if handle == nil {
		return nil
	}
	left := a.host.Keep
	if left <= 0 {
		left = holder.DefaultKeep
	}
	for _, h := range slices.Backward(a.earlier(*handle)) {
		size, err := sizeOf(h.Dir)
		if err != nil {
			return err
		}
		if left -= size; left >= 0 || holder.Occupied(h.Dir) {
			continue
		}
		if err := os.RemoveAll(h.Dir); err != nil {
			return fmt.Errorf("delete what is kept of start %d of arm %s: %w", h.Generation, a.name(), err)
		}
	}
	return nil
}

// sizeOf returns the total size of the files in a folder, in bytes.
func sizeOf(dir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return total, nil
}
