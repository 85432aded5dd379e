package process

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// EnvArm is the environment variable that marks every process of an arm's tree. A sweep
// finds the processes by it when the holder has died first.
const EnvArm = "COLEO_ARM"

// EnvAlone stands beside EnvArm. It says that a person runs the holder: the processes
// below it belong to no arm.
const EnvAlone = "COLEO_ALONE"

// Mark returns the value of EnvArm for a start of an arm: arm, generation and startID.
func Mark(arm string, generation int, nonce string) string {
	return arm + "/" + strconv.Itoa(generation) + "/" + startID(nonce)
}

// startID names the start that a nonce belongs to without revealing the nonce. The arm's
// program can read the start's id, and must not learn the nonce, which proves its holder.
func startID(nonce string) string {
	sum := sha256.Sum256([]byte("coleo start " + nonce))
	return hex.EncodeToString(sum[:8])
}

// OfStart returns a function for SweepStarts that selects the start of a nonce. Without a
// nonce it selects every start. It also accepts the nonce itself, which holders of
// earlier versions put into the mark.
func OfStart(nonce string) func(generation int, start string) bool {
	if nonce == "" {
		return everyStart
	}
	id := startID(nonce)
	return func(_ int, start string) bool { return start == id || start == nonce }
}

// everyStart selects every start of an arm.
func everyStart(int, string) bool { return true }
