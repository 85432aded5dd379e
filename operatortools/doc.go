// Package operatortools is the MCP server for programs that command arms, such as another agent or
// a person's editor. Its tools have the names of the verbs of the command line.
//
// The server decides nothing. Each call is one request to serve's API, with an operator token.
// Serve holds the token to its scopes and limits. The server offers only the tools that the
// token's scopes allow.
package operatortools
