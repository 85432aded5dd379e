package container

import (
	"regexp"
	"strconv"
	"strings"

	"coleo.dev"
)

// These are the labels of a container.
const (
	armLabel   = "dev.coleo.arm"   // the label whose value is the id of the arm
	startLabel = "dev.coleo.start" // the label whose value is the mark ARM/GENERATION/START: see identify
)

// identity contains the arm and the start to which a container belongs.
type identity struct{ arm, mark string }

// markForm matches the mark of a start.
var markForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.-]*)/[0-9]+/[0-9a-f]+$`)

// identify parses the mark of a start, which has the form ARM/GENERATION/START: see process.Mark.
func identify(mark string) (identity, error) {
	found := markForm.FindStringSubmatch(mark)
	if found == nil {
		return identity{}, coleo.Errorf(coleo.EInvalid, "a container needs the mark of an arm, and it is %q", mark)
	}
	return identity{found[1], mark}, nil
}

// name returns the name of the container. No other start has the same name.
func (i identity) name() string { return "coleo-" + strings.ReplaceAll(i.mark, "/", "-") }

// The type user contains the ids, on this machine, of the user that runs the processes in a
// container.
type user struct{ uid, gid int }

func (u user) String() string { return strconv.Itoa(u.uid) + ":" + strconv.Itoa(u.gid) }

// The constant own contains the options of an empty folder in memory. Everybody may write there, because
// docker makes root the owner of such a folder. That is safe, because the container has only one user.
const own = ":rw,exec,nosuid,nodev,mode=1777"

// run returns the arguments with which the engine starts the container in the background.
//
// The root folder is read-only, so that nothing that the arm writes stays in the engine's storage.
// label=disable is necessary because SELinux would otherwise keep the arm from its work folder. The
// alternative would be to change the labels of the user's files.
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

// String returns the mount in the format of the option --mount.
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
		out = append(out, "--memory", bytes, "--memory-swap", bytes) // with equal values, the container has no swap
	}
	if l := p.Limits.PIDs; l > 0 {
		out = append(out, "--pids-limit", strconv.Itoa(l))
	}
	if l := p.Limits.CPUs; l > 0 {
		out = append(out, "--cpus", strconv.FormatFloat(l, 'f', -1, 64))
	}
	return out
}
