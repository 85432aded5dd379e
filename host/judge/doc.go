// Package judge applies an arm's policy to an approval dialog of its agent CLI. It
// determines which call the dialog is about, reads the rules, and decides. It types
// nothing itself: Dialogs lets its caller answer a dialog.
//
// It allows only calls that the agent CLI's hook has reported in full. When in doubt, it
// asks.
package judge
