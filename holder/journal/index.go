package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sort"
)

// Index reads the marks of a journal in order. It does not hold all marks in memory, because a busy
// arm makes millions of marks in a week.
type Index struct {
	file *os.File
	n    int
}

// OpenIndex opens the index of the journal in dir. It returns an error if the index
// cannot be read.
func OpenIndex(dir string) (*Index, error) {
	f, err := os.Open(indexPath(dir))
	if err != nil {
		return nil, fmt.Errorf("read journal index: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read journal index: %w", err), f.Close())
	}
	return &Index{file: f, n: int(info.Size() / markSize)}, nil
}

// Find returns the number of the first mark for which isPast returns true. Marks are numbered from
// 0. If there is no such mark, Find returns the number of marks. As in sort.Search, if isPast
// returns true for one mark, it must return true for all later marks.
//
// If there are damaged marks directly before that first mark, Find can return the number of a
// damaged mark. The caller does not notice this, because From skips damaged marks.
func (x *Index) Find(isPast func(Mark) bool) int {
	return sort.Search(x.n, func(i int) bool {
		for m := range x.From(i) { // the loop uses only the first intact mark at or after i
			return isPast(m)
		}
		return true
	})
}

// From yields the marks in order, beginning with mark number i. It skips marks with a wrong
// checksum.
func (x *Index) From(i int) iter.Seq[Mark] {
	return func(yield func(Mark) bool) {
		in := bufio.NewReader(io.NewSectionReader(x.file, int64(i)*markSize, int64(max(0, x.n-i))*markSize))
		var raw [markSize]byte
		for {
			if _, err := io.ReadFull(in, raw[:]); err != nil {
				return
			}
			for _, m := range decodeMarks(raw[:]) {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// Close closes the index.
func (x *Index) Close() error { return x.file.Close() }
