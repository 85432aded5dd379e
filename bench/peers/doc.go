// Package peers measures Coleo's screen against other terminal emulators. It is
// a module of its own, so that what it is measured against is no dependency of
// Coleo.
package peers
