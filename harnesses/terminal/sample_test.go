package terminal

import (
	"flag"
	"hash/crc32"
	"time"
)

// sampleOneIn says how few recordings are replayed when the race detector is on: one in
// so many. A replay is one goroutine, so the detector finds in a few recordings what it
// would find in all. The plain run replays all of them to check the readings.
const sampleOneIn = 8

// day selects those recordings; each recording has its day.
var day = flag.Int("day", time.Now().YearDay(), "which recordings are replayed under the race detector")

// Sampled reports whether a test replays a recording in this run.
func Sampled(test, recording string) bool {
	return !raced || int(crc32.ChecksumIEEE([]byte(test+recording))%sampleOneIn) == *day%sampleOneIn
}
