package process

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// EnvArm is the environment variable with the mark that all processes of an arm have.
// If the holder dies first, a sweep finds the processes by this mark.
const EnvArm = "COLEO_ARM"

// EnvAlone is an environment variable that is set in addition to EnvArm if a person
// runs the holder. The processes below such a holder belong to no arm.
const EnvAlone = "COLEO_ALONE"

// Mark returns the value of EnvArm for a start of an arm: the arm, the generation and
// the id of the start.
func Mark(arm string, generation int, nonce string) string {
	return arm + "/" + strconv.Itoa(generation) + "/" + startID(nonce)
}

// startID returns an id for the start with the given nonce. The arm's program can read
// this id in its environment. The id must not reveal the nonce, because the nonce
// proves who the holder is.
func startID(nonce string) string {
	sum := sha256.Sum256([]byte("coleo start " + nonce))
	return hex.EncodeToString(sum[:8])
}

// OfStart returns a function for SweepStarts that selects the start with the given
// nonce. If nonce is "", the function selects every start. Holders of earlier versions
// put the nonce itself into the mark, so the function also accepts the nonce.
func OfStart(nonce string) func(generation int, start string) bool {
	if nonce == "" {
		return everyStart
	}
	id := startID(nonce)
	return func(_ int, start string) bool { return start == id || start == nonce }
}

// everyStart selects every start of an arm.
func everyStart(int, string) bool { return true }
