package terminal

import (
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev/harnesses/terminal/past"
)

func TestSizesArePostponed(t *testing.T) {
	t.Parallel()
	small, large := past.Size{Cols: 60, Rows: 20}, past.Size{Cols: 90, Rows: 30}
	for name, tt := range map[string]struct {
		awaited bool          // the program draws a whole frame for each size
		shown   time.Duration // when it draws the frame; 0: never
		want    time.Duration // when the program receives the newest size
	}{
		"until the gap is over":                   {want: resizeGap},
		"until the last one is shown":             {awaited: true, shown: time.Second, want: time.Second},
		"no less than the gap":                    {awaited: true, shown: resizeGap / 2, want: resizeGap},
		"not for ever, where it is not shown":     {awaited: true, want: resizeLimit},
		"until the gap is over, if it is no news": {shown: resizeGap / 2, want: resizeGap},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var z sizes
				begun, given := time.Now(), make(chan past.Size, 2)
				give := func() {
					if size, pending := z.takePending(); pending {
						given <- size
					}
				}
				if z.postpone(small, false, give) {
					t.Fatal("the first size is postponed")
				}
				z.await(1, tt.awaited)
				if z.recordAttempt(false); !z.postpone(small, false, give) || !z.postpone(large, false, give) {
					t.Fatal("a size that comes at once is not postponed")
				}
				if tt.shown > 0 {
					time.AfterFunc(tt.shown, func() { z.noteFrames(2) })
				}
				if got := <-given; got != large || time.Since(begun) != tt.want {
					t.Errorf("after %s the size %+v is given, want %+v after %s", time.Since(begun), got, large,
						tt.want)
				}
				if time.Sleep(2 * resizeLimit); len(given) > 0 {
					t.Error("another size is given")
				}
			})
		})
	}
}

// A redraw ends only when the next size would not have to wait, and nobody can type before it ends. So the
// wait must end even if the program never draws for its last size.
func TestASizeIsNotAwaitedForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var z sizes
		if z.postpone(past.Size{Cols: 60, Rows: 20}, false, func() {}) {
			t.Fatal("the first size is postponed")
		}
		z.await(1, true)
		z.recordAttempt(false)
		if time.Sleep(resizeLimit - time.Millisecond); !z.isBusy() {
			t.Error("the program may still draw, and the next size would not have to wait")
		}
		time.Sleep(time.Millisecond)
		if z.isBusy() || !z.beginRedraw(past.Size{}) {
			t.Error("the program does not draw, and the next size would have to wait")
		}
	})
}
