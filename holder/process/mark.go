package process

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// EnvArm is the environment variable that marks all processes of an arm's tree. If the
// holder has died first, a sweep finds the processes by this mark.
const EnvArm = "COLEO_ARM"

// EnvAlone is set in addition to EnvArm. It tells that a person runs the holder. The
// processes below such a holder belong to no arm.
const EnvAlone = "COLEO_ALONE"

// Mark returns the value of EnvArm for a start of an arm. It consists of the arm, the
// generation and the start's id.
func Mark(arm string, generation int, nonce string) string {
	return arm + "/" + strconv.Itoa(generation) + "/" + startID(nonce)
}

// startID returns an id for the start that has the nonce. The id does not reveal the
// nonce. The arm's program can read the start's id. It must not learn the nonce,
// because the nonce proves who the holder is.
func startID(nonce string) string {
	sum := sha256.Sum256([]byte("coleo start " + nonce))
	return hex.EncodeToString(sum[:8])
}

// OfStart returns a function for SweepStarts that selects the start with the given
// nonce. If the nonce is empty, the function selects every start. The function also
// accepts the nonce itself, because holders of earlier versions put the nonce into the
// mark.
func OfStart(nonce string) func(generation int, start string) bool {
	if nonce == "" {
		return everyStart
	}
	id := startID(nonce)
	return func(_ int, start string) bool { return start == id || start == nonce }
}

// everyStart selects every start of an arm.
func everyStart(int, string) bool { return true }
