// Package api serves the brain over HTTP and WebSocket to the dashboard, to the CLI and
// to programs. It also has the typed client that the CLI uses.
//
// Package api makes no decisions about arms: each route calls one method of the Brain.
// The package decides who may call, how large and how slow a request may be, and which
// HTTP status an error gets.
package api
