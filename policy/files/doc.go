// Package files reads the rules of a policy: the host's, the user's and a project's. It
// also stores which projects' files the user trusts.
//
// A project's file comes with the repository, so anybody may have written it. Until the
// user trusts the file, its rules can only deny. The user trusts the content of a file: a
// changed file is not trusted.
package files
