// Package subarm has the rules for subarms, which are arms that an arm's model asks for. The rules
// decide which subarms an arm may have, with which configuration a subarm starts, and how a message
// between two arms is marked.
//
// A subarm never has more rights than its parent. It has the parent's harness, at most the parent's
// permissions, and a folder within the parent's folder. A person must approve each subarm and each
// message. The package itself starts and sends nothing.
package subarm
