// Package api serves the brain over HTTP and WebSocket, to the dashboard, to
// the CLI and to programs, and holds the typed client that the CLI uses.
//
// It decides nothing about arms: each route is one call of the Brain. What it
// does decide is who may call, how large and how slow a caller may be, and
// which HTTP status an error gets.
package api
