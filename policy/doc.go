// Package policy decides which requests of an arm need no approval from a person.
//
// Decide is a pure function of rules, grants and a request. It answers allow, ask or deny, and
// names the rule that decided. If no rule allows a request, the answer is ask. Decide asks the
// Machine of the given workspace about symbolic links and file names.
//
// A policy saves a person some questions. It does not confine an arm: an allowed command runs with
// all rights of the arm.
package policy
