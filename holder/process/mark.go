package process

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// EnvArm is the environment variable that contains the mark of an arm. All processes of the arm
// have this variable. If the holder dies before them, Coleo finds them by the mark.
const EnvArm = "COLEO_ARM"

// EnvAlone is an environment variable for the processes below a holder that a person runs. They
// have it in addition to EnvArm, because they belong to no arm.
const EnvAlone = "COLEO_ALONE"

// Mark returns the value of EnvArm for one start of an arm. The value contains the arm, the
// generation and the id of the start.
func Mark(arm string, generation int, nonce string) string {
	return arm + "/" + strconv.Itoa(generation) + "/" + startID(nonce)
}

// startID returns an id for the start with the given nonce. The arm's program can read this id in
// its environment. So the id must not reveal the nonce, with which a holder proves its identity.
func startID(nonce string) string {
	sum := sha256.Sum256([]byte("coleo start " + nonce))
	return hex.EncodeToString(sum[:8])
}

// OfStart returns a function for SweepStarts that selects the start with the given nonce. If nonce
// is "", the function selects every start. The function also selects a mark that contains the nonce
// itself instead of the start's id, because holders of earlier versions wrote such marks.
func OfStart(nonce string) func(generation int, start string) bool {
	if nonce == "" {
		return everyStart
	}
	id := startID(nonce)
	return func(_ int, start string) bool { return start == id || start == nonce }
}

// everyStart selects every start of an arm.
func everyStart(int, string) bool { return true }
