package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// askTimeout is the time limit for one call of an engine. An engine needs up to some hundred
// milliseconds.
const askTimeout = 20 * time.Second

// engineEnv lists the variables of the user's environment that an engine receives. They determine
// where the engine, its storage and its settings are. A name that ends with _ is a prefix.
var engineEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_", "DBUS_SESSION_BUS_ADDRESS",
	"DOCKER_", "CONTAINER_", "CONTAINERS_", "STORAGE_"}

// Environ returns the part of an environment that an engine may receive.
func Environ(environ []string) (out []string) {
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.ContainsFunc(engineEnv, func(e string) bool {
			return e == name || strings.HasSuffix(e, "_") && strings.HasPrefix(name, e)
		}) {
			out = append(out, kv)
		}
	}
	return out
}

func lookup(environ []string, name string) string {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// engine is a program that makes containers.
type engine struct {
	kind    coleo.SandboxKind
	program string
	environ []string
}

// Find returns the path of the engine's program. It looks in the PATH of the environment `environ`. If there is
// no such program, the error is EUnsupported.
func Find(kind coleo.SandboxKind, environ []string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", coleo.Errorf(coleo.EUnsupported, "Coleo makes sandboxes only on Linux")
	}
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, string(kind))); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", coleo.Errorf(coleo.EUnsupported, "the program %s is missing: install it, or choose --sandbox %s", kind,
		coleo.SandboxBwrap)
}

// Usable returns EUnsupported with the reason if this user cannot run containers of a kind on this machine. It
// starts no container. `environ` is the user's environment.
func Usable(ctx context.Context, kind coleo.SandboxKind, environ []string) error {
	program, err := Find(kind, environ)
	if err != nil {
		return err
	}
	e := engine{kind, program, Environ(environ)}
	if kind == coleo.SandboxDocker {
		return e.usableDocker(ctx)
	}
	return e.usablePodman(ctx)
}

// HasImage returns ENotFound if the engine does not have the image. Coleo never pulls an image.
func HasImage(ctx context.Context, kind coleo.SandboxKind, environ []string, image string) error {
	program, err := Find(kind, environ)
	if err != nil {
		return err
	}
	e := engine{kind, program, Environ(environ)}
	if _, err := e.ask(ctx, "image", "inspect", "--format", "{{.Id}}", image); err != nil {
		return coleo.Errorf(coleo.ENotFound, "%s has no image %s, and Coleo pulls none: run '%s pull %s', or build it (%w)",
			kind, image, kind, image, err)
	}
	return nil
}

func (e engine) usablePodman(ctx context.Context) error {
	for _, name := range []string{"CONTAINER_HOST", "CONTAINER_CONNECTION"} {
		if lookup(e.environ, name) != "" {
			return coleo.Errorf(coleo.EUnsupported, "%s names a podman on another machine, and a sandbox needs the "+
				"podman of this "+
				"machine: unset it", name)
		}
	}
	if _, err := e.ask(ctx, "ps", "--quiet", "--filter", "label="+startLabel); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "podman does not work for this user: %w", err)
	}
	return nil
}

// usableDocker asks docker where its daemon is and how it is configured. It returns EUnsupported if
// containers of arms cannot run there.
func (e engine) usableDocker(ctx context.Context) error {
	host, err := e.ask(ctx, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
	if err != nil {
		return coleo.Errorf(coleo.EUnsupported, "docker does not say where its daemon is: %w", err)
	}
	if !strings.HasPrefix(host, "unix://") {
		return coleo.Errorf(coleo.EUnsupported, "the daemon of docker is at %s, and a sandbox needs one on this machine: "+
			"unset DOCKER_HOST, or choose another context", host)
	}
	text, err := e.ask(ctx, "info", "--format", "{{json .}}")
	var about struct {
		OSType, OperatingSystem       string
		SecurityOptions, ServerErrors []string
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &about)
	}
	if err == nil && len(about.ServerErrors) > 0 {
		err = errors.New(strings.Join(about.ServerErrors, "; "))
	}
	if err != nil {
		return coleo.Errorf(coleo.EUnsupported, "the daemon of docker cannot be reached: %w", err)
	}
	has := func(option string) bool {
		return slices.ContainsFunc(about.SecurityOptions, func(s string) bool { return strings.HasPrefix(s, "name="+option) })
	}
	switch {
	case about.OSType != "linux" || strings.Contains(about.OperatingSystem, "Docker Desktop"):
		return coleo.Errorf(coleo.EUnsupported, "the daemon of docker runs in a machine of its own (%s), and a sandbox "+
			"needs one on this machine", about.OperatingSystem)
	case has("rootless"), has("userns"):
		return coleo.Errorf(coleo.EUnsupported, "the daemon of docker gives containers other users than this machine has, "+
			"and an arm could not write its work folder: choose --sandbox %s", coleo.SandboxPodman)
	}
	return nil
}

// ask runs the engine's program, and returns its output without the line break at the end. The error
// contains the program's own message.
func (e engine) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, e.program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = e.environ, &out, &said, "/"
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s %s has not answered within %s", e.kind, args[0], askTimeout)
	}
	if text := strings.Join(strings.Fields(said.String()), " "); err != nil && text != "" {
		err = errors.New(cut(text))
	}
	return strings.TrimSpace(out.String()), err
}

// maxSaid is how much of an engine's message an error contains, in bytes.
const maxSaid = 500

func cut(text string) string {
	if len(text) > maxSaid {
		return strings.ToValidUTF8(text[:maxSaid], "") + "…"
	}
	return text
}

// removeTimeout is the time limit for the removal of a container.
const removeTimeout = 10 * time.Second

// remove ends and removes the container of a start. It leaves containers with other names or other
// labels alone. If the container does not exist, remove returns nil.
func (e engine) remove(ctx context.Context, id identity) error {
	deadline := time.Now().Add(removeTimeout)
	for {
		found, err := e.list(ctx, "name=^"+id.name()+"$")
		if err == nil && len(found) == 0 {
			return nil
		}
		for _, one := range found {
			if one.name != id.name() || one.mark != id.mark {
				return coleo.Errorf(coleo.EConflict, "the container %s is not of this start: Coleo leaves it alone", one.name)
			}
			_, err = e.ask(ctx, e.removal(one.id)...) // this fails if the engine is already removing the container
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s cannot remove the container %s: %w", e.kind, id.name(), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// removal returns the arguments that end and remove a container at once.
func (e engine) removal(container string) []string {
	if e.kind == coleo.SandboxPodman { // without --time, podman first waits for the end of the first process
		return []string{"rm", "--force", "--volumes", "--time", "0", container}
	}
	return []string{"rm", "--force", "--volumes", container}
}

// Clean removes the container in which one start of an arm ran. `args` are the two arguments of CleanVerb: the path
// of the plan, and the mark of the start. If the container does not exist, Clean does nothing.
func Clean(args []string) error {
	if len(args) != 2 {
		return coleo.Errorf(coleo.EInvalid, "%s needs a file and a mark", CleanVerb)
	}
	p, err := readPlan(args[0])
	if err != nil {
		return err
	}
	id, err := identify(args[1])
	if err != nil {
		return err
	}
	return engine{p.Kind, p.Program, p.Environ}.remove(context.Background(), id)
}

// sweep removes the containers that earlier starts of the arm have left behind.
func (e engine) sweep(ctx context.Context, arm string) error {
	found, err := e.list(ctx, "label="+armLabel+"="+arm)
	all := []error{err}
	for _, one := range found {
		if id, err := identify(one.mark); err == nil && id.arm == arm {
			all = append(all, e.remove(ctx, id))
		}
	}
	return errors.Join(all...)
}

// listed is a container as the engine lists it.
type listed struct{ id, name, mark string }

// list returns the containers that match a filter, including stopped ones.
func (e engine) list(ctx context.Context, filter string) (out []listed, err error) {
	text, err := e.ask(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter", filter)
	if err != nil {
		return nil, err
	}
	for _, id := range strings.Fields(text) {
		text, err := e.ask(ctx, "container", "inspect", "--format", `{{.Name}} {{index .Config.Labels "`+startLabel+`"}}`, id)
		if err != nil {
			left, unknown := e.ask(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter", "id="+id)
			if unknown != nil || left != "" {
				return nil, err
			}
			continue // the container has just been removed
		}
		if name, mark, ok := strings.Cut(text, " "); ok {
			out = append(out, listed{id, strings.TrimPrefix(name, "/"), mark})
		}
	}
	return out, nil
}
