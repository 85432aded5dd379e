package opencodeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"coleo.dev"
)

// same reports whether two requests have the same id and the same content.
func (a openRequest) same(b openRequest) bool {
	return a.dialogs[0].Fingerprint == b.dialogs[0].Fingerprint
}

// requestFingerprint returns the fingerprint of a request with the given id and content. It depends on the whole
// content, because a plugin can make the server send a request again with the same id and another command.
func requestFingerprint(id string, content any) coleo.Fingerprint {
	raw, _ := json.Marshal(content) // the content was JSON before, so it can be encoded
	sum := sha256.Sum256(raw)
	return coleo.Fingerprint(id + "-" + hex.EncodeToString(sum[:12]))
}
