// Package wire has the bodies of requests and answers that are only used in the API.
// All other types in the API are from package coleo.
package wire
