// Package policy decides which requests of an arm need no approval from a person.
//
// Decide gets rules, grants, a workspace and a request. It answers allow, ask or deny, and names the rule that
// decided. If no rule allows a request, the answer is ask. Decide changes nothing. It asks the Machine of the
// workspace about files, programs and variables.
//
// A policy saves a person some questions. It does not confine an arm: an allowed command runs with all rights
// of the arm.
package policy
