// Package peers compares Coleo's screen with other terminal emulators. It is a module of
// its own, so that the other emulators are not dependencies of Coleo.
package peers
