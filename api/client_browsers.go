package api

import (
	"context"
	"net/url"

	"coleo.dev/api/signin"
)

// The methods of this file work through the server's Unix socket alone.

// NewLink makes a link that signs one browser in.
func (c *Client) NewLink(ctx context.Context) (Link, error) {
	var out Link
	err := c.call(ctx, post, "/api/browsers/links", nil, &out)
	return out, err
}

// Browsers returns the browsers that are signed in.
func (c *Client) Browsers(ctx context.Context) ([]signin.Browser, error) {
	var out browsersReply
	err := c.call(ctx, get, "/api/browsers", nil, &out)
	return out.Browsers, err
}

// SignOut signs one browser out. Error: ENotFound.
func (c *Client) SignOut(ctx context.Context, id string) error {
	return c.call(ctx, del, "/api/browsers/"+url.PathEscape(id), nil, nil)
}

// SignOutAll signs all browsers out, and returns how many that were.
func (c *Client) SignOutAll(ctx context.Context) (int, error) {
	var out signedOut
	err := c.call(ctx, del, "/api/browsers", nil, &out)
	return out.SignedOut, err
}

// ReplaceToken has the server draw another API token, and returns the name by
// which the token is told in logs. The former one is worth nothing at once.
func (c *Client) ReplaceToken(ctx context.Context) (string, error) {
	var out tokenReply
	err := c.call(ctx, post, "/api/token", nil, &out)
	return out.Fingerprint, err
}
