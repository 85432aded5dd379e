// Package files reads the rules of a policy: those of the host, of the user and of a
// project. It also keeps which files of projects the user trusts.
//
// A project's file comes with the repository, so anybody may have written it. It can only
// deny until the user trusts it. The trust is for the file's content: a changed file is
// not trusted.
package files
