// Package api offers the brain over HTTP and WebSocket to the dashboard, to the CLI and
// to other programs. It also has the client for Go, which the CLI uses.
//
// Package api makes no decisions about arms: each route calls one method of the Brain.
// The package decides who is allowed to call, how large and how slow a request can be,
// and which HTTP status belongs to an error.
package api
