package apiclient

import (
	"context"
	"net/url"

	"coleo.dev"
	"coleo.dev/wire"
)

// CreateToken creates an operator token. The reply contains the token's value, which nobody can
// read later. CreateToken returns EInvalid for a bad request, and EConflict if there is already a
// token with this name.
func (c *Client) CreateToken(ctx context.Context, q wire.TokenRequest) (wire.NewToken, error) {
	var out wire.NewToken
	err := c.call(ctx, post, "/api/tokens", q, &out)
	return out, err
}

// OwnToken returns the operator token that this client uses. It returns EUnauthorized if the client
// has no operator token.
func (c *Client) OwnToken(ctx context.Context) (coleo.OperatorToken, error) {
	var out coleo.OperatorToken
	err := c.call(ctx, get, "/api/token", nil, &out)
	return out, err
}

// Tokens returns the operator tokens, sorted by name. The list includes expired tokens.
func (c *Client) Tokens(ctx context.Context) ([]coleo.OperatorToken, error) {
	var out wire.TokensReply
	err := c.call(ctx, get, "/api/tokens", nil, &out)
	return out.Tokens, err
}

// RevokeToken revokes an operator token. It returns ENotFound if there is no such token.
func (c *Client) RevokeToken(ctx context.Context, name string) error {
	return c.call(ctx, del, "/api/tokens/"+url.PathEscape(name), nil, nil)
}
