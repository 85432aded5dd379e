// Package policy decides which questions of an arm a person need not answer.
//
// Decide is a pure function of rules, grants and a request. Its answer is allow, ask or
// deny, with the rule that decided. Without a rule that allows, the answer is ask. The
// machine, which Decide asks for links and names of files, is an argument.
//
// A policy saves questions. It is no boundary: what it allows runs with all rights of
// the arm.
package policy
