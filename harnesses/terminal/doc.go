// Package terminal is what all harnesses of agent CLIs with a screen share:
// how one is started, how its screen is read as a state, how text reaches its
// composer and nothing else, how its dialogs are answered, how it is
// interrupted and found again.
//
// What differs between agent CLIs is data, a Spec read from harness.toml, and
// the few answers in Hooks that data cannot give. No agent CLI is named here.
package terminal
