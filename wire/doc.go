// Package wire contains the bodies of requests and answers that are used only in the API. All other
// types in the API are from package coleo.
package wire

// DeadlineHeader is the name of the header that says until when the caller waits for the answer. The time is
// in the format of RFC 3339, with fractions of a second.
const DeadlineHeader = "Coleo-Deadline"
