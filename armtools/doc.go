// Package armtools is the MCP server with Coleo's own tools. The agent CLI of an arm starts the
// server, and communicates with it over the server's standard input and output.
//
// The server does nothing by itself. It passes each call to the arm's door (package door) with a
// random key, and waits for the result. While the host agent is away, the server repeats the call
// with the same key, so that the call is carried out only once. The server ends when its input
// ends.
//
// A call can wait for a person for days. Meanwhile the server sends MCP progress notifications if
// the agent CLI accepts them. If the agent CLI limits the time of a call, the server returns a
// result before this time has passed. This result contains the id of the question, with which the
// model calls await_answer.
package armtools
