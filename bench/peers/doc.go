// Package peers compares Coleo's screen with other terminal emulators. It is a separate
// module, so that Coleo does not depend on these emulators.
package peers
