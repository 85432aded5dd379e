package host

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
	"coleo.dev/host/armfolder"
)

// This file carries out the orders for what an arm shows or has shown: its live screen, an earlier
// screen, its recording, and its output.

// screen returns an arm's live screen, or the arm's screen at an earlier time.
func (h *Host) screen(_ context.Context, o bus.ScreenOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if o.History > 0 && o.At.IsZero() {
		// Take the screen from the recording, because a live screen has no history, and an ended
		// arm has no live screen.
		o.At = time.Now()
	}
	if !o.At.IsZero() {
		r, last, err := a.recorder()
		if err != nil {
			return nil, err
		}
		s, err := screenAt(r, last, a.folder(), o.At)
		s.History = lastLines(s.History, o.History)
		return s, err
	}
	s, err := a.liveSession()
	if err != nil {
		return nil, err
	}
	t, ok := s.(coleo.Terminal)
	if !ok {
		return nil, noTerminal(a.name())
	}
	return t.Screen(), nil
}

// historyBytes is the largest total size of the history lines in a screen, in bytes. The screen
// must fit into a message of the bus.
const historyBytes = 2 << 20

// lastLines returns the last lines of a list: at most the given number of lines, and at most
// historyBytes bytes.
func lastLines(lines []string, most int) []string {
	first, size := len(lines), 0
	for first > 0 && len(lines)-first < most && size+len(lines[first-1]) <= historyBytes {
		first--
		size += len(lines[first])
	}
	return lines[first:]
}

// screenAt returns the screen at the given time. It tries the last generation first. If the output
// of that generation begins after the given time, screenAt tries the generation before, and so on.
// If a generation before the last one had already ended at the given time, there is no screen.
func screenAt(r coleo.Recorder, last coleo.Handle, kept armfolder.Folder, at time.Time) (coleo.Screen, error) {
	s, err := r.ScreenAt(last, at)
	for _, handle := range slices.Backward(kept.Earlier(last)) {
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

// recording returns a piece of the recording of an arm's terminal. The arm may have ended.
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
	kept := a.folder().Earlier(handle)
	i := slices.IndexFunc(kept, func(h coleo.Handle) bool { return h.Generation == o.Generation })
	if i < 0 {
		oldest := append(kept, handle)[0].Generation
		return nil, coleo.Errorf(coleo.EInvalid, "the output of start %d of arm %s is not kept: it is kept of "+
			"starts %d to %d",
			o.Generation, a.name(), oldest, handle.Generation)
	}
	return r.Record(kept[i], o.From)
}

// recorder returns the harness that reads the recordings of the arm, and the handle of
// the last generation.
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
		return nil, coleo.Handle{}, noTerminal(a.name())
	}
	return r, *record.Handle, nil
}

func noTerminal(arm string) error {
	return coleo.Errorf(coleo.EUnsupported, "arm %s has no screen: its harness uses HTTP", arm)
}

const (
	// outputAtOnce is the largest size of one piece of output, in bytes. A piece must fit into a
	// message of the bus.
	outputAtOnce = 64 << 10
	// outputWait is the longest time that one request waits for output. The caller then sends
	// another request.
	outputWait = 25 * time.Second
)

// output returns a piece of terminal output from the journal, which remains after the arm has
// ended. If there is no output yet, output waits for some.
func (h *Host) output(ctx context.Context, o bus.OutputOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	r := a.report()
	if r.Handle == nil {
		return coleo.Output{End: true}, nil
	}
	out := coleo.Output{Offset: o.From}
	if s, err := a.liveSession(); err == nil {
		if t, ok := s.(coleo.Terminal); ok {
			view := t.Screen()
			out.Cols, out.Rows = view.Cols, view.Rows
		}
	}
	start, end, err := journal.Span(holder.JournalDir(r.Handle.Dir))
	if err != nil {
		return nil, err
	}
	if out.Offset < 0 {
		out.Offset += end
	}
	out.Offset = max(out.Offset, start)
	if out.Offset < end || !r.Attached {
		return readOutput(r, out, end)
	}
	return waitOutput(ctx, a, out, o.Wait)
}

func readOutput(r bus.ArmReport, out coleo.Output, end int64) (coleo.Output, error) {
	reader := journal.NewReader(holder.JournalDir(r.Handle.Dir), out.Offset)
	defer reader.Close()
	buf := make([]byte, outputAtOnce)
	n, err := reader.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		return out, err
	}
	out.Data = buf[:n]
	out.End = !r.Attached && out.Offset+int64(n) >= end
	return out, nil
}

// waitOutput waits until the terminal has more output, at most for the given duration. It returns
// the given Output with the new output added.
func waitOutput(ctx context.Context, a *arm, out coleo.Output, wait time.Duration) (coleo.Output, error) {
	ctx, cancel := context.WithTimeout(ctx, min(max(wait, 0), outputWait))
	defer cancel()
	s, err := a.liveSession()
	if err != nil {
		out.End = true
		return out, nil
	}
	t, ok := s.(coleo.Terminal)
	if !ok {
		return out, coleo.Errorf(coleo.EUnsupported, "arm %s has no terminal: its harness uses HTTP", a.name())
	}
	stream, err := t.Output(ctx, out.Offset)
	if err != nil {
		return out, err
	}
	defer stream.Close()
	buf := make([]byte, outputAtOnce)
	n, err := stream.Read(buf)
	out.Data = buf[:n]
	out.End = errors.Is(err, io.EOF) && ctx.Err() == nil
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) && ctx.Err() == nil {
		return out, err
	}
	return out, nil
}
