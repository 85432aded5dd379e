// Package subarm has the rules of subarms: arms that an arm's model asks for. It says which
// subarm an arm may have, with which configuration a subarm starts, and how a message between
// two arms is marked.
//
// A subarm never gets more than its parent: it has the parent's harness, at most the parent's
// permissions, and a folder within the parent's. The package starts and sends nothing. A
// person must approve each subarm and each message before.
package subarm
