package terminal

import (
	"sync"
	"syscall"
	"time"

	"coleo.dev/harnesses/terminal/past"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder/process"
)

// viewerGone is how long a viewer counts as watching after its last request for output. A viewer
// sends the next request immediately, unless the machine is loaded.
const viewerGone = 5 * time.Second

// viewers stores whether somebody watches the terminal, or types into it by hand.
type viewers struct {
	mu   sync.Mutex
	open int       // number of requests for output that have not ended
	last time.Time // when a request for output last ended, or somebody last typed a key by hand
}

func (v *viewers) onOpen() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open++
}

func (v *viewers) onClose(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open, v.last = v.open-1, now
}

func (v *viewers) onKeys(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = now
}

// isWatched reports whether somebody watches or types by hand.
func (v *viewers) isWatched(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open > 0 || !v.last.IsZero() && now.Sub(v.last) < viewerGone
}

// redrawing makes sure that only one redraw runs at a time.
type redrawing struct {
	mu      sync.Mutex
	busy    bool
	closing chan struct{} // closed by stop
	running sync.WaitGroup
}

func newRedrawing() *redrawing { return &redrawing{closing: make(chan struct{})} }

// begin calls the function `do` in the background. It does nothing if a redraw is running, or after a
// call of stop.
func (g *redrawing) begin(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.closing:
		return
	default:
	}
	if g.busy {
		return
	}
	g.busy = true
	g.running.Go(func() {
		do()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.busy = false
	})
}

// stop makes a running redraw stop waiting, and returns when that redraw has ended. No redraw can
// begin afterwards.
func (g *redrawing) stop() {
	g.mu.Lock()
	select {
	case <-g.closing:
	default:
		close(g.closing)
	}
	g.mu.Unlock()
	g.running.Wait()
}

// redrawIfWanted begins a redraw if the Reader wants one.
func (s *session) redrawIfWanted() {
	r, unlock := s.live.lock()
	wanted := r.WantsRedraw(time.Now())
	unlock()
	if wanted {
		s.redrawing.begin(s.redraw)
	}
}

// redraw makes the agent CLI draw its picture again. It does nothing if somebody watches or types. Nobody
// can type before redraw has returned.
func (s *session) redraw() {
	resume, free := s.typist.TryPause()
	if free {
		defer resume()
	}
	r, unlock := s.live.lock()
	begun := false
	if !free || s.viewers.isWatched(time.Now()) || !s.sizes.beginRedraw(sizeOf(r)) {
		r.RedrawRefused(time.Now())
	} else {
		defer s.sizes.endRedraw()
		begun = r.Redrawing(time.Now())
	}
	unlock()
	if !begun {
		return
	}
	s.askRedraw()
	r, unlock = s.live.lock()
	r.Redrawn(time.Now())
	unlock()
	s.live.lookAgain()
}

// askRedraw sends the signal or the sizes that make the agent CLI draw its picture again. It
// ignores errors, because the next picture shows whether the agent CLI has drawn.
func (s *session) askRedraw() {
	view := s.Screen()
	switch s.rules().Redraw {
	case rules.RedrawSignal:
		if id := s.handle.Process; process.Same(id) {
			_ = syscall.Kill(-id.PID, syscall.SIGWINCH)
		}
	case rules.RedrawRows:
		s.resizeAndBack(view.Cols, view.Rows-1)
	case rules.RedrawColumns:
		s.resizeAndBack(view.Cols-1, view.Rows)
	}
}

// drawLimit is how long Coleo waits, during a redraw, until the program has drawn for a new size. After
// that, Coleo restores the old size. A program that checks its size later finds the old size, and draws
// nothing. If ten other programs compete for each core, Codex 0.150.0 takes over 5 s.
const drawLimit = 15 * time.Second

// awaitDrawn waits until the output after an offset contains a whole picture, for at most
// drawLimit.
func (s *session) awaitDrawn(from int64) {
	limit := time.NewTimer(drawLimit)
	defer limit.Stop()
	for {
		w, unlock := s.live.watch()
		drawn, looked := w.End() > from && w.UntilWhole(time.Now()) == 0, w.next()
		unlock()
		if drawn {
			return
		}
		select {
		case <-looked:
		case <-limit.C:
			return
		case <-s.redrawing.closing:
			return
		}
	}
}

// resizeAndBack gives the program another size, waits until the program has drawn for that size, and then
// restores the old size. If somebody gives the terminal a size meanwhile, that size replaces the old one.
// resizeAndBack returns only after the program has drawn for the last size too, because until then, the program
// may lose keys. If the host agent is killed meanwhile, the next host agent restores the old size.
func (s *session) resizeAndBack(cols, rows int) {
	view, folder := s.Screen(), past.FolderOf(s.handle)
	now := past.Size{Cols: view.Cols, Rows: view.Rows}
	// Ignore an error of KeepSize, for example because the disk is full. The redraw still works. Only if this
	// process is killed during the redraw, the terminal keeps the new size.
	_ = folder.KeepSize(now)
	defer folder.DropSize()
	from := s.end()
	// The argument `typing` is false, because nobody can type during a redraw.
	if size := (past.Size{Cols: cols, Rows: rows}); !s.sizes.postpone(size, false, s.resizePostponed) {
		_ = s.resize(size)
	}
	s.awaitDrawn(from)
	from = s.end()
	if size, waits := s.sizes.postponeBack(s.resizePostponed); !waits {
		_ = s.resize(size)
	}
	s.awaitDrawn(from)
	tick := time.NewTicker(resizeGap)
	defer tick.Stop()
	for s.sizes.isBusy() {
		select {
		case <-tick.C:
		case <-s.redrawing.closing:
			s.resizePostponed()
			return
		}
	}
}

func sizeOf(r *reading.Reader) past.Size {
	cols, rows := r.Core().Size()
	return past.Size{Cols: cols, Rows: rows}
}

// end returns the offset of the end of the output that the session has read.
func (s *session) end() int64 {
	r, unlock := s.live.lock()
	defer unlock()
	return r.End()
}

// restoreSize restores the size that the program had before a redraw, if a host agent was killed
// during that redraw.
func (s *session) restoreSize() {
	folder := past.FolderOf(s.handle)
	if size, ok := folder.KeptSize(); ok && s.Resize(s.ctx, size.Cols, size.Rows) == nil {
		folder.DropSize()
	}
}
