package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxPayload is the largest size of the payload of one event, in bytes of encoded
	// JSON. An event must fit into one message of the bus (4 MiB), and a page of events
	// must fit into memory.
	maxPayload = 1 << 20
	// maxEscape is the largest factor by which JSON text can grow when it is encoded
	// again. For example, the one character "<" becomes six characters.
	maxEscape = 6
)

// The function fit makes sure that a payload has at most maxPayload bytes. In a larger one, it
// shortens the longest texts and lists. A shortened text says how many bytes are left out.
func fit(payload json.RawMessage) (json.RawMessage, error) {
	if len(payload) <= maxPayload/maxEscape {
		return payload, nil
	}
	sent, err := json.Marshal(payload)
	if err != nil || len(sent) <= maxPayload {
		return payload, err
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	// Half of the limit gives more than half of the bytes. So the first of the two next limits is
	// never too small, and the second one cuts at most an eighth too much.
	for limit := maxPayload; limit > 0; limit = min(limit*maxPayload/len(sent), limit-limit/8-1) {
		if sent, err = json.Marshal(cut(value, limit)); err != nil || len(sent) <= maxPayload {
			return sent, err
		}
	}
	return nil, nil // a payload of large keys cannot be shortened, but Coleo writes no such payload
}

// The function cut shortens the texts of a decoded JSON value to limit bytes, and its lists to
// limit elements.
func cut(value any, limit int) any {
	switch v := value.(type) {
	case string:
		if len(v) <= limit {
			return v
		}
		kept := limit
		for kept > 0 && !utf8.RuneStart(v[kept]) {
			kept--
		}
		return fmt.Sprintf("%s… (%d bytes left out)", strings.Clone(v[:kept]), len(v)-kept)
	case []any:
		out := make([]any, 0, min(len(v), limit))
		for _, x := range v[:min(len(v), limit)] {
			out = append(out, cut(x, limit))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			out[key] = cut(x, limit)
		}
		return out
	}
	return value
}
