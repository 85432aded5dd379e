package checked

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// Spec contains the configuration of a run and its prompt. Hash computes the specHash of the run
// from it.
type Spec struct {
	Harness string   `json:"harness"`
	Model   string   `json:"model"` // PROVIDER/MODEL or MODEL; "" if the agent CLI has chosen it
	Args    []string `json:"args"`  // arguments that the user has added to the agent CLI's command line
	Mode    string   `json:"mode"`  // the mode that the agent CLI has shown, or else the permission mode
	// Asked is nil for a prompt that is not checked.
	Asked *Asked `json:"asked,omitempty"`
}

// Asked is the part of a Spec that only a checked prompt has.
type Asked struct {
	Prompt      string          `json:"prompt"`                 // the caller's text, without the input
	Schema      json.RawMessage `json:"schema,omitempty"`       // the schema of the answer
	InputSchema json.RawMessage `json:"input_schema,omitempty"` // the schema of the input
}

// Hash returns the SHA-256 of the JSON of the spec, as 64 hexadecimal digits. The JSON is
// canonical: it has no spaces, the keys of each object are sorted, and numbers keep their given
// form. If the schemas are not JSON, Hash returns "".
func Hash(s Spec) string {
	if s.Args == nil {
		s.Args = []string{}
	}
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	raw, err := json.Marshal(s)
	if err == nil {
		var value any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		err = errors.Join(decoder.Decode(&value), encoder.Encode(value)) // Encode sorts the keys of the maps
	}
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	return hex.EncodeToString(sum[:])
}
