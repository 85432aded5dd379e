// Package operatortools is the MCP server for programs that command arms, such as another agent or
// a person's editor. Its tools have the names of the verbs of the command line.
//
// The server makes no decisions. Each call of a tool is one request to serve's API, with an
// operator token. Serve enforces the scopes and limits of the token. The MCP server offers only the
// tools that the token's scopes allow.
package operatortools
