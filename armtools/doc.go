// Package armtools is the MCP server with Coleo's own tools. The agent CLI of an arm starts
// it and speaks with it over its standard input and output.
//
// The server does nothing by itself. It passes each call to the arm's door (package door)
// with a random key, and waits for the result. While the host agent is away, it tries
// again with the same key, so the call happens once. The server ends when its input ends.
//
// A call can wait for a person, for days. Meanwhile the server sends MCP progress
// notifications, if the agent CLI takes them. If the agent CLI limits the time of a call,
// the server gives up before that, and its result names the question. The model then calls
// await_answer.
package armtools
