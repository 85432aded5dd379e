package wire

import (
	"encoding/json"
	"time"
)

// MaxMemo is the largest size of the value of a memo, in bytes. It is limited because serve's
// database contains the memos of all arms.
const MaxMemo = 64 << 10

// Memo is a JSON value that people and programs can store together with an arm, such as the
// progress of the arm's work. Coleo does not use the value, and never sets it itself.
type Memo struct {
	// Value is empty until somebody sets it.
	Value json.RawMessage `json:"value,omitempty" doc:"Any JSON of at most 64 KiB; left out until it is set"`
	// Schema is the JSON Schema that each value must fit. If Schema is empty, any value fits.
	Schema  json.RawMessage `json:"schema,omitempty" doc:"JSON Schema that the value must fit"`
	Changed time.Time       `json:"changed,omitzero"` // when the value was set
}
