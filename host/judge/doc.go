// Package judge applies an arm's policy to an approval dialog of its agent CLI. It finds
// out what the dialog asks about, reads the rules, and decides. It types nothing.
//
// It allows only what the agent CLI's hook has reported whole. When in doubt, it asks.
package judge
