// Package policy decides which approvals of an arm need no person.
//
// Decide is a pure function of rules, grants and a request. It answers allow, ask or deny, and
// names the rule that decided. If no rule allows a request, the answer is ask. Decide looks up
// symbolic links and file names through the machine of the given workspace.
//
// A policy saves a person some questions. It does not confine an arm: an allowed command runs with
// all rights of the arm.
package policy
