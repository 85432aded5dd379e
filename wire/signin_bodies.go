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

type BrowsersReply struct {
	Browsers []Browser `json:"browsers"`
}

type SignedOut struct {
	SignedOut int `json:"SignedOut"` // the number of browsers that were signed out
}

type TokenReply struct {
	Fingerprint string `json:"fingerprint"` // the fingerprint of the new token; the token itself is in its file
}

type TokensReply struct {
	Tokens []coleo.OperatorToken `json:"tokens"` // sorted by name, without the values
}

// Browser describes a signed-in browser for users.
type Browser struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"` // the User-Agent of the browser; anybody can forge it
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
}
