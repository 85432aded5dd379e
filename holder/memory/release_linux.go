// Package memory reduces the memory of a process that waits most of the time.
package memory

//platform:linux Memory of a quiet holder = goes back to the system

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

// releaseDelay is the time between an activity of the process and the release of its pages. It can
// be short, because the kernel maps all pages again in about 60 µs.
const releaseDelay = 500 * time.Millisecond

// mappedAround is how many bytes of the program's file the kernel maps around a touched page. The
// kernel's default is 64 KiB. A value below 16 KiB would save little more memory, and would make
// many mappings.
const mappedAround = 16 << 10

// Releaser saves memory: it unmaps the pages of this program's own file when the holder has no work. A
// holder uses only a small part of its program, but the kernel maps 16 pages around each touched page.
// Without a Releaser, the whole program would soon be mapped. Released pages stay in the page
// cache, where they take no additional memory. The zero value is ready to use.
type Releaser struct {
	pending atomic.Bool
	once    sync.Once
	timer   *time.Timer
	mapped  []pages // mapped pages of the program's file; nil before the first search
}

// pages is a range of addresses in this process.
type pages struct{ start, size uintptr }

// ReleaseSoon releases the pages after releaseDelay. It does nothing if a release is already
// planned.
func (r *Releaser) ReleaseSoon() {
	if !r.pending.CompareAndSwap(false, true) {
		return
	}
	first := false
	r.once.Do(func() { r.timer, first = time.AfterFunc(releaseDelay, r.releaseNow), true })
	if !first {
		r.timer.Reset(releaseDelay)
	}
}

func (r *Releaser) releaseNow() {
	if r.mapped == nil {
		r.mapped = programPages()
		mapLessAround(r.mapped)
	}
	r.pending.Store(false)
	for _, p := range r.mapped {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, p.start, p.size, unix.MADV_DONTNEED)
	}
}

// mapLessAround makes the kernel map at most mappedAround bytes around each touched page. The
// kernel never maps such pages beyond the mapping that contains the touched page. So mapLessAround
// splits each range into mappings of mappedAround bytes: it gives every second part the read advice
// MADV_RANDOM, and parts with different advice are different mappings.
func mapLessAround(all []pages) {
	for _, p := range all {
		for at := uintptr(0); at < p.size; at += 2 * mappedAround {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, p.start+at, min(mappedAround, p.size-at), unix.MADV_RANDOM)
		}
	}
}

// programPages returns the read-only ranges into which the program's file is mapped. It leaves out
// a range if any of its pages differs from the file, because a release would lose the difference.
// Such pages exist because the loader writes to some pages before it makes them read-only. If
// programPages cannot find the ranges, it returns none, and the process uses more memory.
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

// parsePages parses a range of addresses in the form of /proc: start-end in hex.
func parsePages(text []byte) pages {
	from, to, _ := bytes.Cut(text, []byte("-"))
	start, err1 := strconv.ParseUint(string(from), 16, 64)
	end, err2 := strconv.ParseUint(string(to), 16, 64)
	if err1 != nil || err2 != nil {
		return pages{}
	}
	return pages{uintptr(start), uintptr(end - start)}
}
