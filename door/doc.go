// Package door connects an arm to its host agent. Each arm has a unix socket in its folder.
// Processes of the arm call Coleo's own tools through this socket. A call can act only for the arm
// that owns the socket.
//
// A caller connects and sends a Request as one line of JSON. Then it reads lines of JSON until it
// receives the result:
//
//	→ {"key":"k1","tool":"ask_user","arguments":{"question":"Which colour?"}}
//	← {"key":"k1","waiting":"q-4x7"}     the call waits for an answer; this may take days
//	← {"key":"k1","result":"They chose: Red"}
//	→ {"key":"k1","got":true}            the caller has passed the result on
//
// If the call fails, the answer has the key "error" in place of "result". After a lost connection,
// the caller sends its request again with the same key. The door recognizes the key and does not
// carry the request out twice. A connection carries out one request at a time.
//
// Only processes of the same user can connect. A caller needs no token, because each socket belongs
// to one arm: see docs/security.md.
package door

import (
	"encoding/json"

	"coleo.dev"
)

// File is the name of the socket in the arm's folder.
const File = "door.sock"

// MaxLine is the largest size of a line in either direction, in bytes. The largest plan, 64 KiB,
// fits even if JSON escapes all its characters. A door shortens a result that does not fit.
const MaxLine = 512 << 10

// maxKey is the largest size of a key, in bytes. A random key of Coleo has 26 bytes.
const maxKey = 64

// Request asks the door for a call of a tool.
type Request struct {
	Key       string          `json:"key"` // a random text that the caller chooses, of at most 64 bytes
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Got means that the request calls no tool. It reports that the caller has passed on the result
	// of the earlier request with the same key.
	Got bool `json:"got,omitempty"`
}

// Response is one line from the door.
type Response struct {
	Key     string   `json:"key"`
	Waiting string   `json:"waiting,omitempty"` // id of the coleo.Suspension (a question) that the call waits for
	Result  *string  `json:"result,omitempty"`  // the result of the call, a text for the model
	Error   *Failure `json:"error,omitempty"`
}

// Failure says why a call failed.
type Failure struct {
	Code    coleo.Code `json:"code"`
	Message string     `json:"message"`
}
