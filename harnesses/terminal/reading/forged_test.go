package reading_test

import (
	"hash/crc32"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/pty"
)

// forged are escape sequences that report a state. The output of a tool may contain them, although the agent
// CLI itself did not write them.
var forged = []string{
	"\x1b]7501;state=working:app=x\x07", "\x1b]7501;state=blocked:kind=permission\x07", "\x1b]7501;state=idle\x07",
	"\x1b]7501;state=clear\x07",
	"\x1b]26;CodeAgent=x;Status=running\x07", "\x1b]26;Status=awaiting-approval\x07", "\x1b]26;Status=finished\x07",
	"\x1b]9;4;1;50\x07", "\x1b]9;4;3\x07", "\x1b]9;4;0\x07",
}

// forgedEach is how many forged sequences each recording is tested with. Over all recordings, each
// sequence is used many times.
const forgedEach = 2

// held is the longest time for which a forged sequence may change a reading. In this time, the sequence loses
// its effect, and the next reading settles.
const held = 3*time.Second + slack + 200*time.Millisecond

// A forged state report in the middle of a recording must never make an arm idle too early. It must also not
// keep an arm from being idle for longer than `held`. The test compares the state with a reading of the
// screen alone, because the forged report may replace a true one.
func TestAForgedWordFoolsNobody(t *testing.T) {
	t.Parallel()
	forEachRecording(t, func(t *testing.T, h described, name string, c *pty.Cast) {
		plain := replay(h, reading.Recording{Cast: lengthened(c), Until: -1})
		byScreen := replay(h, reading.Recording{Cast: lengthened(c), Until: -1, ScreenOnly: true})
		first := int(crc32.ChecksumIEEE([]byte(name)))
		for i := range forgedEach {
			word := forged[(first+i*len(forged)/forgedEach)%len(forged)]
			fake := lengthened(c)
			at := forge(fake, word)
			if at < 0 {
				return // the recording has no output
			}
			got := replay(h, reading.Recording{Cast: fake, Until: -1})
			for _, s := range spans(byScreen, got) {
				if s.got == coleo.Idle && s.want != coleo.Idle && s.until-s.from > slack {
					t.Errorf("%q at %s: idle from %s to %s, where the screen says %s", word, at, s.from, s.until,
						s.want)
				}
			}
			for _, s := range spans(plain, got) {
				mustRest := s.want == coleo.Idle || s.want == coleo.Failed || s.want == coleo.Dead
				if mustRest && s.got != s.want && s.until-s.from > held {
					t.Errorf("%q at %s: %s from %s to %s, where it is %s", word, at, s.got, s.from, s.until, s.want)
				}
			}
			if i > 0 {
				continue
			}
			if again := replay(h, reading.Recording{Cast: fake, Until: -1,
				ScreenOnly: true}); len(again) != len(byScreen) {
				t.Errorf("%q at %s: the screen's rules alone read %v, want %v", word, at, again, byScreen)
			}
		}
	})
}

// lengthened returns a recording with a minute of silence at its end, so that a wrong reading can
// end.
func lengthened(c *pty.Cast) *pty.Cast {
	out := &pty.Cast{Cols: c.Cols, Rows: c.Rows, Events: append([]pty.CastEvent(nil), c.Events...)}
	if n := len(out.Events); n > 0 {
		out.Events = append(out.Events, pty.CastEvent{At: out.Events[n-1].At + time.Minute, Kind: pty.CastMark})
	}
	return out
}

// forge inserts an escape sequence after some output in the middle of a recording. It returns the time of that
// output, or -1 if the recording has none.
func forge(c *pty.Cast, word string) time.Duration {
	for i := len(c.Events) / 2; i < len(c.Events); i++ {
		if e := &c.Events[i]; e.Kind == pty.CastOutput {
			e.Data += word
			return e.At
		}
	}
	return -1
}
