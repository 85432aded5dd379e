package terminal

import (
	"flag"
	"hash/crc32"
	"time"
)

// sampleOneIn is how many recordings there are for each that is replayed where
// the race detector is on. A replay is one goroutine: what it would find there,
// it finds in a few, and what is read must be right in the plain run, which
// replays all of them.
const sampleOneIn = 8

// day says which recordings those are; each has its day.
var day = flag.Int("day", time.Now().YearDay(), "which recordings are replayed under the race detector")

// Sampled tells whether a test replays a recording in this run.
func Sampled(test, recording string) bool {
	return !raced || int(crc32.ChecksumIEEE([]byte(test+recording))%sampleOneIn) == *day%sampleOneIn
}
