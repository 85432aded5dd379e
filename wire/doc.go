// Package wire has the bodies of requests and answers that only the API knows. Every
// other type of the API is one of package coleo.
package wire
