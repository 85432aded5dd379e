package holder

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// restAfter is between something that happened and the next rest. Pages come
// back in some 60 µs altogether, so that this may be often.
const restAfter = 500 * time.Millisecond

// around is how much of the program's file is mapped where some of it is
// touched, in bytes, instead of 64 KiB. Smaller ones save little more and make
// many mappings.
const around = 16 << 10

// resting gives back, after each spell of activity, the pages of the program's
// own file: the kernel maps 16 of them around each that is touched, so that a
// holder would soon hold all of its program, of which it uses little. They
// stay in the page cache, where they cost nothing of their own.
type resting struct {
	pending atomic.Bool
	once    sync.Once
	timer   *time.Timer
	pages   []pages // what is mapped of the program's file; nil: not yet looked
}

type pages struct{ start, size uintptr }

// after has a rest begin so much later, unless one is to come anyway.
func (r *resting) after(d time.Duration) {
	if !r.pending.CompareAndSwap(false, true) {
		return
	}
	first := false
	r.once.Do(func() { r.timer, first = time.AfterFunc(d, r.now), true })
	if !first {
		r.timer.Reset(d)
	}
}

func (r *resting) now() {
	if r.pages == nil {
		r.pages = programPages()
		narrow(r.pages)
	}
	r.pending.Store(false)
	for _, p := range r.pages {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, p.start, p.size, unix.MADV_DONTNEED)
	}
}

// narrow has the kernel map less around each page that is touched: it goes no
// further than a mapping does, and two that are read in different ways are two.
func narrow(all []pages) {
	for _, p := range all {
		for at := uintptr(0); at < p.size; at += 2 * around {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, p.start+at, min(around, p.size-at), unix.MADV_RANDOM)
		}
	}
}

// programPages returns what is mapped of this program's file as it is there,
// nothing when that cannot be told: it is only memory. What the loader has
// written to before it was made read-only is not in the file and stays.
func programPages() []pages {
	out := []pages{}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return out
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return out
	}
	defer maps.Close()
	var at pages
	lines := bufio.NewReader(maps)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return out
		}
		fields := bytes.Fields(line)
		switch {
		case bytes.Equal(fields[0], []byte("Anonymous:")):
			if at.size > 0 && bytes.Equal(fields[1], []byte("0")) {
				out = append(out, at)
			}
		case len(fields) >= 5 && bytes.IndexByte(fields[0], '-') > 0:
			at = pages{}
			if bytes.HasSuffix(bytes.TrimSpace(line), []byte(self)) && bytes.IndexByte(fields[1], 'w') < 0 {
				at = parsePages(fields[0])
			}
		}
	}
}

// parsePages reads a range as /proc writes it, from-to in hex.
func parsePages(text []byte) pages {
	from, to, _ := bytes.Cut(text, []byte("-"))
	start, err1 := strconv.ParseUint(string(from), 16, 64)
	end, err2 := strconv.ParseUint(string(to), 16, 64)
	if err1 != nil || err2 != nil {
		return pages{}
	}
	return pages{uintptr(start), uintptr(end - start)}
}
