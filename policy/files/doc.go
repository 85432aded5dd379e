// Package files reads the rules of a policy: the host's, the user's and a project's. It also stores
// which projects' files the user trusts.
//
// A project's file comes with the repository, so anybody may have written the file. Until the user
// trusts the file, its rules can only deny. The user's trust applies only to the content of the
// file. If the content changes, the file is no longer trusted.
package files
