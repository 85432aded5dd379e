package wire

import (
	"time"

	"coleo.dev"
)

// Link is a link that signs one browser in. It can be used once.
type Link struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

// BrowsersReply answers GET /api/browsers.
type BrowsersReply struct {
	Browsers []Browser `json:"browsers"`
}

// SignedOut answers the routes that sign browsers out.
type SignedOut struct {
	SignedOut int `json:"signedOut"` // the number of browsers that were signed out
}

// TokenReply answers POST /api/token. It does not contain the new token itself.
type TokenReply struct {
	Fingerprint string `json:"fingerprint"` // the fingerprint of the new token; the token itself is in its file
}

// TokensReply answers GET /api/tokens.
type TokensReply struct {
	Tokens []coleo.OperatorToken `json:"tokens"` // the operator tokens, sorted by name, without their values
}

// Browser describes a signed-in browser for users.
type Browser struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"` // the User-Agent of the browser; anybody can forge it
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
}
