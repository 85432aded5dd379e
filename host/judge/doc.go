// Package judge applies an arm's policy to an approval dialog of its agent CLI. It determines which
// call the dialog is about, reads the rules, and decides. It does not type the answer itself:
// Dialogs calls Config.Answer for that.
//
// Package judge allows only calls that the agent CLI's hook has reported completely. When in doubt,
// it leaves the dialog to a person.
package judge
