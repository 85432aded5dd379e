package wire

import (
	"time"

	"coleo.dev"
	"coleo.dev/api/signin"
)

// Link is a link that signs one browser in. It can be used once.
type Link struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

type BrowsersReply struct {
	Browsers []signin.Browser `json:"browsers"`
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
