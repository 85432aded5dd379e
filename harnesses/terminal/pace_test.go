package terminal

import (
	"testing"
	"time"
)

func TestAFloodIsSlowedUntilItIsOver(t *testing.T) {
	t.Parallel()
	f, now := NewFloods(), time.Unix(1, 0)
	var p pace
	if f.limitFor(&p, floodBurst-1, now) != 0 {
		t.Error("slowed within the burst")
	}
	now = now.Add(time.Second / 2)
	if f.limitFor(&p, floodRate/2, now) != 0 {
		t.Error("slowed at the rate that is allowed")
	}
	if rate := f.limitFor(&p, floodRate, now.Add(time.Millisecond)); rate != floodRate {
		t.Errorf("slowed to %d beyond the burst, want %d", rate, floodRate)
	}
	for range 20 {
		now = now.Add(time.Second)
		if f.limitFor(&p, floodRate, now) == 0 {
			t.Fatal("let go while it floods")
		}
	}
	if f.limitFor(&p, 1, now.Add(24*time.Hour)) != 0 {
		t.Error("not let go after the flood")
	}
}

func TestFloodsShareWhatTheyMayWrite(t *testing.T) {
	t.Parallel()
	const arms = 16
	f, now := NewFloods(), time.Unix(1, 0)
	paces := make([]pace, arms)
	written := 0
	for slowed := 0; slowed < arms; now = now.Add(time.Millisecond) {
		slowed = 0
		for i := range paces {
			if f.limitFor(&paces[i], 64<<10, now) != 0 {
				slowed++
			}
			written += 64 << 10
		}
	}
	if most := floodBurst + arms*(floodSmall+256<<10); written > most {
		t.Errorf("all of them wrote %d bytes before they were slowed, want %d at most", written, most)
	}
	if rate := f.limitFor(&paces[0], 1, now); rate != floodTotal/arms {
		t.Errorf("each may write %d bytes a second, want %d", rate, floodTotal/arms)
	}
	var quiet pace
	if f.limitFor(&quiet, 100<<10, now) != 0 {
		t.Error("an arm that does not flood is slowed with the others")
	}
	if rate := f.limitFor(&paces[0], 1, now.Add(2*floodPause)); rate != floodRate {
		t.Errorf("alone after a pause of the others it may write %d, want %d", rate, floodRate)
	}
	f.leave(&paces[0])
	if f.limitFor(&paces[1], 1, now.Add(2*floodPause)) != floodRate {
		t.Error("one that has ended keeps its share")
	}
}
