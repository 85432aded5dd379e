package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/wire"
)

// These flags set the size of TestRandomUsersLoseNothing. `make users` makes it larger.
var (
	userSteps = flag.Int("user-steps", 10, "command lines of each of the two random users, for each agent CLI")
	userSeed  = flag.Uint64("user-seed", 0, "seed of the random users; 0 draws one")
)

// These are the agent CLIs of TestRandomUsersLoseNothing, and their commands.
var userAgents = [][2]string{
	{"claude-code", "claude"}, {"codex", "codex"}, {"gemini", "gemini"}, {"opencode", "opencode"}, {"aider", "aider"},
}

// TestRandomUsersLoseNothing lets two users work on one arm at the same time. They use the verbs in a random order, do
// not wait for each other, and also kill serve and the host agent. Afterwards, the test compares what each command
// line said with the model's record and the file system.
func TestRandomUsersLoseNothing(t *testing.T) {
	t.Parallel()
	for _, a := range userAgents {
		t.Run(a[0], func(t *testing.T) {
			t.Parallel()
			needAgent(t, a[0], a[1])
			seed := *userSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			u := newUsers(newLiveOf(t, a[0]), seed)
			u.work(*userSteps)
			u.settle()
			u.judge()
			u.checkAnswer()
		})
	}
}

// users are two users of one arm with a real agent CLI.
type users struct {
	*live
	began   time.Time
	modes   []string // modes in which the agent CLI does not ask less often
	redrawn int      // how many reports of unknown screens the test has handled
	waiting []string // ids of the prompts that are still queued at the end

	mu   sync.Mutex
	r    *rand.Rand
	log  []act
	sent []*sent
}

// act is a command line of a user, and how it ended.
type act struct {
	began, ended time.Time
	args         []string
	code         int
	message      string // last line of the output, or the error
}

// sent is a prompt, and what the user heard of it.
type sent struct {
	act
	verb      string
	nonce     string
	plain     bool // the prompt asks for nothing but the nonce as the answer
	run       string
	answer    string
	delivered *bool // what the error says; nil if there is no error, or if it does not say
}

func newUsers(l *live, seed uint64) *users {
	u := &users{live: l, began: time.Now(), r: rand.New(rand.NewPCG(seed, 0))}
	for _, m := range decode[wire.Modes](l.world, "arm", "mode", l.name).List {
		asks := m.Permission == "" || m.Permission == coleo.PermissionAsk || m.Permission == coleo.PermissionPlan
		if !m.Confirm && asks {
			u.modes = append(u.modes, m.ID)
		}
	}
	l.t.Cleanup(func() {
		if l.t.Failed() {
			l.t.Logf("-user-seed %d\n%s", seed, u.history())
		}
	})
	return u
}

func (u *users) history() string {
	var b strings.Builder
	for _, a := range u.log {
		fmt.Fprintf(&b, "%6.1f-%6.1f exit %2d  %s: %s\n", a.began.Sub(u.began).Seconds(), a.ended.Sub(u.began).Seconds(),
			a.code, strings.Join(a.args, " "), a.message)
	}
	return b.String()
}

// work lets both users give their command lines.
func (u *users) work(steps int) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for range steps {
				u.step()
				time.Sleep(time.Duration(u.draw(1000)) * time.Millisecond) // a user gives orders at random moments
			}
		})
	}
	both.Wait()
}

func (u *users) draw(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.r.IntN(n)
}

// step gives one command line, or a few that belong together.
func (u *users) step() {
	steps := []struct {
		share int // in percent
		do    func()
	}{
		{28, func() { u.send("prompt") }},
		{12, func() { u.send("prompt", "--wait", "--timeout", "20s") }},
		{8, func() { u.send("follow-up") }},
		{6, func() { u.send("steer") }},
		{13, func() { u.do("arm", "interrupt", u.name) }},
		{12, func() { u.do("arm", "approve", u.name) }},
		{6, func() { u.do("arm", "deny", u.name) }},
		{2, func() { u.do("arm", "answer", u.name, "1") }},
		{3, u.switchMode},
		{3, func() { u.do("arm", "abort", u.name); u.do("arm", "resume", u.name) }},
		{2, func() { u.do("arm", "compact", u.name) }},
		{2, func() { u.do("arm", "kill", u.name); u.do("arm", "recover", u.name) }},
		{3, u.killSome},
	}
	at := u.draw(100)
	for _, s := range steps {
		if at -= s.share; at < 0 {
			s.do()
			return
		}
	}
}

func (u *users) switchMode() {
	if len(u.modes) > 0 {
		u.do("arm", "mode", u.name, u.modes[u.draw(len(u.modes))])
	}
}

// killSome kills serve, the host agent or both, or stops them. Then it starts them again.
func (u *users) killSome() {
	switch u.draw(4) {
	case 0:
		u.do("down")
	case 1:
		u.kill("serve")
	case 2:
		u.kill("agent")
	default:
		u.kill("serve", "agent")
	}
	u.do("up")
}

func (u *users) kill(verbs ...string) {
	began := time.Now()
	for _, verb := range verbs {
		for _, pid := range u.processesOf(verb) {
			killPID(pid)
		}
	}
	u.add(act{began: began, ended: time.Now(), args: append([]string{"(kill)"}, verbs...)})
}

func (u *users) add(a act) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.log = append(u.log, a)
}

// userPatience bounds a command line of a user. The longest bound of a verb is 2 minutes.
const userPatience = 4 * time.Minute

// do gives a command line. It returns its standard output and its error.
func (u *users) do(args ...string) (a act, out string, e coleo.Error) {
	ctx, cancel := context.WithTimeout(context.Background(), userPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, u.path("bin/coleo"), append([]string{"--json"}, args...)...)
	u.prepare(cmd)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	a = act{began: time.Now(), args: args}
	err := cmd.Run()
	a.ended = time.Now()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) || ctx.Err() != nil {
		u.t.Errorf("coleo %v did not end: %v, %v", args, err, ctx.Err())
	}
	if cmd.ProcessState != nil {
		a.code = cmd.ProcessState.ExitCode()
	}
	var failed struct{ Error coleo.Error }
	_ = json.Unmarshal(stderr.Bytes(), &failed) // without an error, there is nothing to decode
	e = failed.Error
	a.message = strings.TrimSpace(fmt.Sprint(e.Code, " ", e.Message))
	u.add(a)
	return a, stdout.String(), e
}

// send sends one of several prompts with the given verb.
func (u *users) send(verb string, more ...string) {
	s := &sent{verb: verb, nonce: conformance.Nonce()}
	texts := []string{
		"say " + s.nonce, "say " + s.nonce, "say " + s.nonce + "\na second line\na third line",
		"count to 40 every 50ms, then say " + s.nonce,
		"think of it for 1s, then say " + s.nonce,
		"pause 1s, then say " + s.nonce,
		"write " + s.nonce + ".txt with " + s.nonce + ", then say done",
		"run touch " + s.nonce + ".txt, then say done",
		"ask Which one? with red or blue, then say " + s.nonce,
		"fail 400, then say " + s.nonce,
	}
	at := u.draw(len(texts))
	s.plain = at < 2
	var out string
	var e coleo.Error
	s.act, out, e = u.do(append(append([]string{"arm", verb, u.name}, more...), texts[at])...)
	s.delivered = e.Delivered
	// Each verb prints the id of the run in its own shape.
	var reply struct {
		Run, ID, Answer string
		Receipt         coleo.Receipt
	}
	_ = json.Unmarshal([]byte(out), &reply) // after an error, standard output can be empty
	s.answer = reply.Answer
	for _, id := range []string{reply.Receipt.ID, reply.ID, reply.Run} {
		if id != "" {
			s.run = id
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent = append(u.sent, s)
}
