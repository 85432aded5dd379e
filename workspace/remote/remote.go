// Package remote chooses the remote of a repository and parses its URL. It starts no program and
// does not use the network.
package remote

import (
	"net/url"
	"regexp"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
	"coleo.dev/workspace/git"
)

// Place is a repository on a server such as GitHub or GitLab.
type Place struct {
	Host string // without a port
	Path string // owner/name, or group/subgroup/name
}

var (
	hostPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
	pathPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_.][A-Za-z0-9._-]*)+$`)
)

// sshHosts maps hosts that are only for ssh to the host names that gh and glab know.
var sshHosts = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}

// PlaceOf parses the URL of a remote. It returns EInvalid if the URL is neither an https nor an ssh
// URL.
func PlaceOf(remote string) (Place, error) {
	bad := coleo.Errorf(coleo.EInvalid, "the remote %.200q is not a repository on a server: a pull request needs an "+
		"https or ssh URL", remote)
	var p Place
	switch {
	case strings.HasPrefix(remote, "https://"), strings.HasPrefix(remote, "ssh://"):
		u, err := url.Parse(remote)
		if err != nil || u.RawQuery != "" || u.Fragment != "" {
			return p, bad
		}
		p = Place{u.Hostname(), u.Path}
	default:
		host, path, ok := strings.Cut(remote, ":")
		if !ok || strings.Contains(host, "/") {
			return p, bad
		}
		p = Place{host[strings.LastIndexByte(host, '@')+1:], path}
	}
	p.Host = strings.ToLower(p.Host)
	if host, ok := sshHosts[p.Host]; ok {
		p.Host = host
	}
	p.Path = strings.TrimSuffix(strings.Trim(p.Path, "/"), ".git")
	if !hostPattern.MatchString(p.Host) || !pathPattern.MatchString(p.Path) || strings.Contains(p.Path, "..") {
		return p, bad
	}
	return p, nil
}

// Owner returns the first part of the path.
func (p Place) Owner() string {
	owner, _, _ := strings.Cut(p.Path, "/")
	return owner
}

// Of returns the name and the URL of the remote that belongs to a branch. This is the remote in the branch's
// configuration, or else the remote origin, or else the only remote. `branch` may be "". Of returns EConflict if there
// is no such remote, or if it has several URLs.
func Of(r *git.Repo, branch string) (name, address string, err error) {
	all := r.Remotes()
	names := append(r.Values("branch."+branch+".remote"), "origin")
	if len(all) == 1 {
		names = append(names, all[0])
	}
	for _, name := range names {
		urls := r.Values("remote." + name + ".url")
		if len(urls) > 1 {
			return "", "", coleo.Errorf(coleo.EConflict, "the remote %.100q has several URLs: give it one with "+
				"'git remote set-url'", name)
		}
		if len(urls) == 1 {
			return name, urls[0], nil
		}
	}
	if len(all) == 0 {
		return "", "", coleo.Errorf(coleo.EConflict, "the repository has no remote: 'git remote add origin URL' adds one")
	}
	return "", "", coleo.Errorf(coleo.EConflict, "the repository has the remotes %.200q, and none is called origin: "+
		"choose one with 'git config %s NAME'", strings.Join(all, ", "), printable.ShellWord("branch."+branch+".remote"))
}

// WithoutPassword returns a URL without its user name and password, for messages.
func WithoutPassword(remote string) string {
	if u, err := url.Parse(remote); err == nil && u.User != nil && u.Scheme == "https" {
		u.User = nil
		return u.String()
	}
	return remote
}
