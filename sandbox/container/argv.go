package container

import (
	"regexp"
	"strconv"
	"strings"

	"coleo.dev"
)

// The labels of a container.
const (
	armLabel   = "dev.coleo.arm"   // the id of the arm
	startLabel = "dev.coleo.start" // the mark of the start
)

// identity says to which start of which arm a container belongs.
type identity struct{ arm, mark string }

// markForm is the form of a mark: see process.Mark.
var markForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.-]*)/[0-9]+/[0-9a-f]+$`)

// identify returns the identity of the start with a mark.
func identify(mark string) (identity, error) {
	found := markForm.FindStringSubmatch(mark)
	if found == nil {
		return identity{}, coleo.Errorf(coleo.EInvalid, "a container needs the mark of an arm, and it is %q", mark)
	}
	return identity{found[1], mark}, nil
}

// name is the name of the container. No other start has the same name.
func (i identity) name() string { return "coleo-" + strings.ReplaceAll(i.mark, "/", "-") }

// user is the user of the processes in a container, with numbers as on this machine.
type user struct{ uid, gid int }

func (u user) String() string { return strconv.Itoa(u.uid) + ":" + strconv.Itoa(u.gid) }

// own are the options of an empty folder in memory. Everybody can write there, because docker gives
// such a folder to root. There is one user in the container.
const own = ":rw,exec,nosuid,nodev,mode=1777"

// run returns the arguments with which the engine starts the container. The engine does not wait for its end.
//
// The root folder is read-only, so nothing that the arm writes stays in the engine's storage. SELinux
// would keep the arm from its work folder: the alternative to label=disable is to change the labels of
// the user's files.
func (p Plan) run(id identity, u user) []string {
	argv := []string{"run", "--detach", "--rm", "--pull=never", "--name", id.name(),
		"--label", armLabel + "=" + id.arm, "--label", startLabel + "=" + id.mark, "--env", "COLEO_ARM=" + id.mark,
		"--user", u.String(), "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--security-opt", "label=disable", "--read-only", "--ipc", "private", "--workdir", "/", "--no-healthcheck",
		"--tmpfs", "/tmp" + own, "--tmpfs", p.Home + own}
	if p.Kind == coleo.SandboxPodman {
		argv = append(argv, "--http-proxy=false")
		if u.uid != 0 {
			argv = append(argv, "--userns", "keep-id")
		}
	}
	if p.Network {
		argv = append(argv, "--network", "host")
	} else {
		argv = append(argv, "--network", "none")
	}
	argv = append(argv, p.limits()...)
	mounts := append([]Mount{{p.Coleo, p.Coleo, true}, {p.Link, Linked, false}}, p.Mounts...)
	seen := map[string]bool{}
	for _, m := range mounts {
		if !seen[m.Target] {
			argv = append(argv, "--mount", m.String())
		}
		seen[m.Target] = true
	}
	return append(argv, "--entrypoint", p.Coleo, p.Image, InitVerb, Linked)
}

// String returns the mount in the words of --mount.
func (m Mount) String() string {
	out := "type=bind,source=" + m.Source + ",target=" + m.Target
	if m.Readonly {
		out += ",readonly"
	}
	return out
}

func (p Plan) limits() (out []string) {
	if l := p.Limits.Memory; l > 0 {
		bytes := strconv.FormatInt(l, 10)
		out = append(out, "--memory", bytes, "--memory-swap", bytes) // so there is no swap
	}
	if l := p.Limits.PIDs; l > 0 {
		out = append(out, "--pids-limit", strconv.Itoa(l))
	}
	if l := p.Limits.CPUs; l > 0 {
		out = append(out, "--cpus", strconv.FormatFloat(l, 'f', -1, 64))
	}
	return out
}
