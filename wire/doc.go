// Package wire contains the bodies of requests and answers that are used only in the API. All other
// types in the API are from package coleo.
package wire
