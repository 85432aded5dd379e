// Package armtools is the MCP server with Coleo's own tools. The agent CLI of an arm starts the
// server, and speaks with it over the server's standard input and output.
//
// The server does nothing by itself. It passes each call to the arm's door (package door) with a
// random key, and waits for the result. While the host agent is away, the server tries again with
// the same key. The call is therefore carried out only once. The server ends when its input ends.
//
// A call can wait for a person for days. Meanwhile the server sends MCP progress notifications if
// the agent CLI accepts them. If the agent CLI limits the time of a call, the server gives up
// before this time has passed. The result of the call then names the question, and the model calls
// await_answer.
package armtools
