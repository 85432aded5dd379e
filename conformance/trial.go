package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/hosted"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/holder/journal"
	"coleo.dev/waitfor"
)

// Config is the configuration for tests of harnesses.
type Config struct {
	Dir      string         // folder for all files of the trials; it must exist
	Path     []string       // folders that are searched first for agent CLIs
	Binary   string         // path of the agent CLI; if it is set, the agent CLI is not searched for
	Environ  []string       // the caller's environment; only PATH and the language are passed on
	Probe    []string       // command line of the checks' MCP server; the path of the record is appended
	Isolated bool           // the caller has removed all networks except loopback
	Keep     bool           // keep the files in Dir
	Size     Size           // size of each terminal
	Sandbox  *coleo.Sandbox // sandbox in which the agent CLI runs; nil means none
	Record   string         // existing folder for recordings of the sessions; "" means no recordings
	Prefix   string         // beginning of the names of the recordings
	Log      func(line string)
}

func (c Config) log(format string, args ...any) {
	if c.Log != nil {
		c.Log(fmt.Sprintf(format, args...))
	}
}

// Trial is the environment in which checks run: a model server, a work folder and a HOME. It has a
// Session while the agent CLI runs, unless a host agent drives the agent CLI.
type Trial struct {
	Harness coleo.Harness
	Model   *modelserver.Server
	Workdir string
	Session coleo.Session

	config           Config
	dir              string
	name             string // name of the trial's recordings
	details          string
	recordedSessions []*recordedSession // the recorded sessions, one for each agent CLI that was started
	checks           []journal.CastMark // when each check began
	before           int                // number of requests to the model before this check
	lives            int                // number of agent CLIs that the method renew has ended
	tmux             *tmux              // the tmux that shows the windows; nil if the harness has none
	hosted           *hosted.Arm        // the agent CLI, if a host agent drives it; Session is nil then
}

func newTrial(h coleo.Harness, c Config, name string) (*Trial, error) {
	dir, err := os.MkdirTemp(c.Dir, name+"-")
	if err != nil {
		return nil, fmt.Errorf("make trial folder: %w", err)
	}
	t := &Trial{Harness: h, config: c, dir: dir, name: c.Prefix + name, Workdir: filepath.Join(dir, "work")}
	if err := t.makeFolders(); err != nil {
		return nil, err
	}
	t.Model, err = modelserver.Start(modelserver.Config{Log: filepath.Join(dir, "model.jsonl")})
	return t, err
}

// makeFolders makes an empty HOME, and a work folder that is a git repository.
func (t *Trial) makeFolders() error {
	for _, d := range []string{t.Workdir, t.home()} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return fmt.Errorf("make trial folder: %w", err)
		}
	}
	// Some agent CLIs work only in a repository, and all agent CLIs can work in one.
	if out, err := exec.Command("git", "init", "-q", "--template=", t.Workdir).CombinedOutput(); err != nil {
		return fmt.Errorf("make a repository of the work folder: %w: %s", err, out)
	}
	return nil
}

// renew ends the agent CLI, if there is one. For the next agent CLI, it makes a new HOME and a new work
// folder at the old paths. The paths must not change, because recordings hide exactly these paths.
func (t *Trial) renew(ctx context.Context) error {
	if t.Session == nil {
		return nil
	}
	if err := errors.Join(t.Session.Kill(ctx), t.closeSession()); err != nil {
		return fmt.Errorf("end the agent CLI: %w", err)
	}
	t.Session = nil
	t.lives++
	for _, d := range []string{t.Workdir, t.home()} {
		if err := os.Rename(d, fmt.Sprintf("%s-%d", d, t.lives)); err != nil {
			return fmt.Errorf("put a used folder away: %w", err)
		}
	}
	return t.makeFolders()
}

func (t *Trial) home() string { return filepath.Join(t.dir, "home") }

// spawn starts the agent CLI with the scripted model. If editConfig is not nil, spawn first calls it with
// the configuration.
func (t *Trial) spawn(ctx context.Context, editConfig func(*coleo.SpawnConfig)) error {
	c := t.spawnConfig()
	if t.lives > 0 {
		c.Generation, c.Dir = t.lives+1, fmt.Sprintf("%s-%d", c.Dir, t.lives+1)
	}
	if err := t.placeWindow(&c); err != nil {
		return err
	}
	if editConfig != nil {
		editConfig(&c)
	}
	s, err := t.Harness.Spawn(ctx, c)
	t.Session = s
	if s != nil {
		t.startRecording(c.Dir)
	}
	return err
}

// Boxed returns the sandbox s, changed so that an agent CLI in it can reach the scripted model. Only
// a docker container needs a change: it uses the sandbox's proxy, because docker's daemon is not in
// the network of the checks.
func Boxed(s coleo.Sandbox) *coleo.Sandbox {
	if s.Kind == coleo.SandboxDocker {
		s.Network = coleo.NetworkModel
	}
	return &s
}

func (t *Trial) spawnConfig() coleo.SpawnConfig {
	return coleo.SpawnConfig{
		Arm: "trial-" + filepath.Base(t.dir), Generation: 1, Nonce: Nonce(), Dir: filepath.Join(t.dir, "hold"),
		Workdir: t.Workdir, Path: t.config.Path, Binary: t.config.Binary, Environ: t.config.Environ,
		Profile: coleo.ProfileHermetic, Home: t.home(), Endpoint: t.Model.URL(), Model: "mock-1",
		PermissionMode: coleo.PermissionAsk, Cols: t.config.Size.Cols, Rows: t.config.Size.Rows, Sandbox: t.config.Sandbox,
	}
}

// spawnIdle starts the agent CLI and waits until it accepts input. If an earlier check has left a session,
// spawnIdle uses that session and starts nothing.
func (t *Trial) spawnIdle(ctx context.Context, change func(*coleo.SpawnConfig)) error {
	if t.Session != nil {
		_, err := waitfor.State(ctx, t.Session, coleo.Idle, coleo.Failed)
		return err
	}
	if err := t.spawn(ctx, change); err != nil {
		return err
	}
	_, err := waitfor.Idle(ctx, t.Session)
	return err
}

// begin prepares the trial for the check with the given name.
func (t *Trial) begin(check string) {
	t.details, t.before = "", len(t.Model.Record())
	t.checks = append(t.checks, journal.CastMark{Time: time.Now(), Label: check})
}

// requests returns the requests that the model has received since the check began.
func (t *Trial) requests() []modelserver.Request { return t.Model.Record()[t.before:] }

// awaitAnswerBegin waits until the model has begun to answer a prompt. If the agent CLI does not request a
// streamed answer, awaitAnswerBegin waits only until the model has received the prompt.
func (t *Trial) awaitAnswerBegin(ctx context.Context, prompt string) error {
	begun := func(q modelserver.Request) bool {
		return q.Prompt == prompt && q.Side == "" && (!q.First.IsZero() || !q.Stream)
	}
	if _, err := t.Model.Wait(ctx, begun); err != nil {
		return fmt.Errorf("wait for the stream: %w", err)
	}
	return nil
}

// close ends the agent CLI and writes the recordings. It removes the files of the trial, unless the user
// wants to keep them.
func (t *Trial) close() error {
	var err error
	if t.Session != nil {
		t.finishRecording()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err = t.Session.Kill(ctx); err != nil {
			err = fmt.Errorf("end the agent CLI: %w", err)
		}
		_ = t.closeSession()
	}
	if t.hosted != nil {
		err = t.hosted.Close()
	}
	_ = t.Model.Close()
	t.tmux.close()
	err = errors.Join(err, t.writeRecordings())
	if !t.config.Keep {
		_ = os.RemoveAll(t.dir)
	}
	return err
}

// reasonOf returns the reason why a check failed. If ctx has ended, the reason also contains the cause of its end.
func reasonOf(ctx context.Context, err error) string {
	if cause := context.Cause(ctx); cause != nil && !strings.Contains(err.Error(), cause.Error()) {
		return cause.Error() + ": " + err.Error()
	}
	return err.Error()
}

// evidenceRequests is how many of the last requests to the model a failure report contains. They cover the
// failed turn and the turn before it.
const evidenceRequests = 20

// evidence describes the session for the report of a failed check. It contains the state, the witnesses (what
// each source says about the state), the screen, and the last requests to the model.
func (t *Trial) evidence() string {
	session := t.Session
	if t.hosted != nil {
		session = t.hosted.Session()
	}
	if session == nil {
		return ""
	}
	r := session.State()
	out := fmt.Sprintf("\nread: %s by rule %q", r.State, r.Rule)
	if x, ok := session.(coleo.Explainer); ok {
		for _, w := range x.Explain().Witnesses {
			out += fmt.Sprintf("\nwitness: %s %s %q at %s, lapsed: %t", w.Name, w.State, w.Rule,
				w.Time.Format("15:04:05.000"), w.Lapsed)
		}
	}
	if term, ok := session.(coleo.Terminal); ok {
		out += "\nscreen:\n" + strings.TrimRight(strings.Join(term.Screen().Lines, "\n"), "\n")
	}
	asked := t.requests()
	if n := len(asked) - evidenceRequests; n > 0 {
		out += fmt.Sprintf("\nmodel: %d earlier requests", n)
		asked = asked[n:]
	}
	for _, q := range asked {
		out += fmt.Sprintf("\nmodel: %s %s %q -> %d %s", q.Method, q.Path, cut(q.Prompt), q.Status, q.Rule)
	}
	return out
}

// cut shortens a prompt for a report.
func cut(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// Nonce returns a random word that nobody can guess. A check puts it into a prompt, so that an answer with
// the same word must be the answer to that prompt.
func Nonce() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return "nonce" + hex.EncodeToString(b[:])
}
