package armtools

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coleo.dev"
	"coleo.dev/door"
	"coleo.dev/host/toolcalls"
	"coleo.dev/store"
)

// patience is the time after which a wait in these tests fails.
const patience = time.Minute

// serverEnv is an environment variable that contains the path of a door, an arm's socket in the
// host agent. If it is set, the test binary runs the tool server that connects to this door.
const serverEnv = "COLEO_TEST_DOOR"

func TestMain(m *testing.M) {
	if path := os.Getenv(serverEnv); path != "" {
		if err := Run(context.Background(), os.Stdin, os.Stdout, Config{Door: path, Tools: coleo.ArmTools()}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// office is the part of a host agent that the tool server needs. It has a real database, and a
// dispatcher that carries out the calls. Each of its arms has a door, the socket for the calls.
type office struct {
	t          *testing.T
	dir        string
	db         *store.HostDB
	dispatcher *toolcalls.Dispatcher
	open       []*door.Door
}

type visitor struct {
	*toolcalls.Dispatcher
	arm string
}

func (v visitor) Call(ctx context.Context, q door.Request, waiting func(string)) (string, error) {
	return v.Dispatcher.Call(ctx, v.arm, q, waiting)
}

func (v visitor) AnswerDelivered(ctx context.Context, key string) {
	_ = v.Dispatcher.AnswerDelivered(ctx, v.arm, key)
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir()}
	o.check(os.Chmod(o.dir, 0o700))
	o.start()
	t.Cleanup(o.end)
	return o
}

func (o *office) check(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) start() {
	o.t.Helper()
	var err error
	o.db, err = store.OpenHost(filepath.Join(o.dir, "host.db"))
	o.check(err)
	o.dispatcher = &toolcalls.Dispatcher{DB: o.db, Write: o.db.ChangeTools, Now: time.Now, Arms: o,
		Arm: func(id string) (toolcalls.Facts, error) {
			return toolcalls.Facts{Name: "arm-" + id, Workdir: "/work", Run: "r1", Prompt: "do it", Tools: coleo.ArmTools()}, nil
		}}
	o.open = nil
	for _, arm := range []string{"a", "b"} {
		d, err := door.Open(o.path(arm), nil, visitor{o.dispatcher, arm})
		o.check(err)
		o.open = append(o.open, d)
	}
}

func (o *office) end() {
	for _, d := range o.open {
		_ = d.Close()
	}
	_ = o.db.Close()
}

func (o *office) path(arm string) string { return filepath.Join(o.dir, arm+".sock") }

// waiting waits until n suspensions of arm a are open, and returns them.
func (o *office) waiting(n int) []coleo.Suspension {
	o.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		list, err := o.db.Suspensions(o.t.Context(), "a", false)
		o.check(err)
		if len(list) == n {
			return list
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("%d questions wait, want %d", len(list), n)
		}
	}
}

func (o *office) answer(s coleo.Suspension, d coleo.Decision) {
	o.t.Helper()
	_, err := o.dispatcher.Answer(o.t.Context(), s.Arm, s.ID, "somebody", d)
	o.check(err)
}

// events returns the logged events of the given kind.
func (o *office) events(kind coleo.EventKind) (out []coleo.Event) {
	o.t.Helper()
	list, err := o.db.Events(o.t.Context(), 0, 0)
	o.check(err)
	return slices.DeleteFunc(list, func(e coleo.Event) bool { return e.Kind != kind })
}

// process starts the arm's tool server as a child process and connects to it. An agent CLI does the
// same.
func (o *office) process(arm string) *mcp.ClientSession {
	o.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+o.path(arm))
	return o.connect(&mcp.CommandTransport{Command: cmd}, nil)
}

// inside runs the tool server in this process, with the given configuration, and connects to it.
func (o *office) inside(c Config, options *mcp.ClientOptions) *mcp.ClientSession {
	o.t.Helper()
	c.Door, c.Tools = o.path("a"), coleo.ArmTools()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() { _ = Run(o.t.Context(), inR, outW, c) }()
	return o.connect(&mcp.IOTransport{Reader: outR, Writer: inW}, options)
}

func (o *office) connect(by mcp.Transport, options *mcp.ClientOptions) *mcp.ClientSession {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(ctx, by, nil)
	o.check(err)
	o.t.Cleanup(func() { _ = s.Close() })
	return s
}

type answered struct {
	text   string
	failed bool
	err    error
}

// call calls a tool and returns at once. The channel receives the result.
func call(ctx context.Context, s *mcp.ClientSession, tool string, args map[string]any) <-chan answered {
	out := make(chan answered, 1)
	go func() {
		p := &mcp.CallToolParams{Name: tool, Arguments: args}
		p.SetProgressToken("p-" + tool)
		r, err := s.CallTool(ctx, p)
		if err != nil {
			out <- answered{err: err}
			return
		}
		out <- answered{r.Content[0].(*mcp.TextContent).Text, r.IsError, nil}
	}()
	return out
}

// now calls a tool and waits for the result.
func now(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) answered {
	t.Helper()
	a := <-call(t.Context(), s, tool, args)
	if a.err != nil {
		t.Fatalf("%s: %v", tool, a.err)
	}
	return a
}

func TestEachToolIsListedWithItsSchema(t *testing.T) {
	t.Parallel()
	list, err := newOffice(t).process("a").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if schema, err := json.Marshal(tool.InputSchema); err != nil || !strings.Contains(string(schema), `"object"`) ||
			tool.Description == "" {
			t.Errorf("%s: %s, %v, %q", tool.Name, schema, err, tool.Description)
		}
	}
	want := coleo.ArmTools()
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("tools = %q, want %q", names, want)
	}
}

// The host agent restarts while a tool call waits for the user's answer. Afterwards the same
// question must still be open, and the user must not be asked a second time. The waiting call must
// return the answer.
func TestM15AQuestionOutlivesTheHostAgent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.process("a")
	result := call(t.Context(), s, coleo.ToolAskUser,
		map[string]any{"question": "Which colour?", "options": []string{"red", "blue"}})
	first := o.waiting(1)[0]
	o.end()
	o.start()
	again := o.waiting(1)[0]
	if again.ID != first.ID || again.Run != "r1" || again.Kind != coleo.SuspensionQuestion {
		t.Errorf("after the restart %+v waits, before it was %+v", again, first)
	}
	o.answer(again, coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2, Words: "like the sea"})
	if a := <-result; a.err != nil || a.failed || a.text != "The user chooses: blue. They say: like the sea" {
		t.Errorf("the model gets %+v", a)
	}
	if asked, told := o.events(coleo.EventSuspension), o.events(coleo.EventAnswered); len(asked) != 1 ||
		len(told) != 1 || asked[0].Run != "r1" {
		t.Errorf("events: %d asked, %d answered: %+v", len(asked), len(told), asked)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if list, err := o.db.Suspensions(t.Context(), "a", true); err == nil && len(list) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the answer was not noted as heard")
		}
	}
}

// If the agent CLI cuts a call of ask_user off, the user's question stays open. The model can then
// call await_answer or ask the same question again. Either call must return the answer.
func TestM15ACutCallIsTakenUp(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.inside(Config{Longest: time.Millisecond}, nil)
	a := now(t, s, coleo.ToolAskUser, map[string]any{"question": "Go on?"})
	id := o.waiting(1)[0].ID
	if a.failed || !strings.Contains(a.text, "await_answer") || !strings.Contains(a.text, id) {
		t.Errorf("a call that lasts too long = %+v, want the id %s", a, id)
	}

	patient := o.process("a")
	ctx, cut := context.WithCancel(t.Context())
	lost := call(ctx, patient, coleo.ToolAskUser, map[string]any{"question": "Go on?"})
	later := call(t.Context(), patient, coleo.ToolAwaitAnswer, map[string]any{"id": id})
	cut()
	if a := <-lost; a.err == nil {
		t.Errorf("the cut call = %+v", a)
	}
	o.answer(o.waiting(1)[0], coleo.Decision{Choice: coleo.ChoiceAnswer, Words: "yes"})
	if a := <-later; a.text != "The user answers: yes" {
		t.Errorf("await_answer = %+v", a)
	}
	if n := len(o.events(coleo.EventSuspension)); n != 1 {
		t.Errorf("the user was asked %d times", n)
	}
}

// The user's answer comes after the call of ask_user was cut off. The model must receive this
// answer when it asks the same question again. After that, the same text is a new question.
func TestM15AnAnswerThatNobodyHeardIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	now(t, o.inside(Config{Longest: time.Millisecond}, nil), coleo.ToolAskUser, map[string]any{"question": "Go on?"})
	o.answer(o.waiting(1)[0], coleo.Decision{Choice: coleo.ChoiceAnswer, Words: "yes"})
	s := o.process("a")
	if a := now(t, s, coleo.ToolAskUser, map[string]any{"question": "Go on?"}); a.text != "The user answers: yes" {
		t.Errorf("asked again = %+v", a)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if a := now(t, s, coleo.ToolAwaitAnswer, nil); a.failed && strings.Contains(a.text, "no question waits") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("await_answer = %+v", a)
		}
	}
	call(t.Context(), s, coleo.ToolAskUser, map[string]any{"question": "Go on?"})
	o.waiting(1) // the model has received the answer, so the same text is a new question now
}

// asked contains a call of a tool that asks the user, the user's answer, and the text that the
// model must receive.
type asked struct {
	tool   string
	args   map[string]any
	answer coleo.Decision
	want   string
}

func TestM16PlansAreApprovedOrDenied(t *testing.T) {
	t.Parallel()
	checkAsked(t, coleo.SuspensionPlan, []asked{
		{coleo.ToolSubmitPlan, map[string]any{"plan": "1. work"}, coleo.Decision{Choice: coleo.ChoiceApprove},
			"The user approves the plan."},
		{coleo.ToolSubmitPlan, map[string]any{"plan": "1. rest"}, coleo.Decision{Choice: coleo.ChoiceDeny, Words: "work"},
			"The user rejects the plan. They say: work"},
	})
}

// A request for access works like a request to approve a plan. Its arguments are what the model
// wants to access, and why.
func TestM17AccessIsAllowedOrDenied(t *testing.T) {
	t.Parallel()
	wanted := map[string]any{"what": "/etc", "why": "to look"}
	checkAsked(t, coleo.SuspensionAccess, []asked{
		{coleo.ToolRequestAccess, wanted, coleo.Decision{Choice: coleo.ChoiceApprove}, "The user allows it."},
		{coleo.ToolRequestAccess, wanted, coleo.Decision{Choice: coleo.ChoiceDeny, Words: "use /tmp"},
			"The user denies it. They say: use /tmp"},
	})
}

func TestM15SeveralOptionsAreChosen(t *testing.T) {
	t.Parallel()
	checkAsked(t, coleo.SuspensionQuestion, []asked{
		{coleo.ToolAskUser, map[string]any{"question": "Which?", "options": []string{"x", "y", "z"}, "multiple": true},
			coleo.Decision{Choice: coleo.ChoiceAnswer, Options: []int{1, 3}}, "The user chooses: x; z."},
	})
}

func checkAsked(t *testing.T, kind coleo.SuspensionKind, list []asked) {
	t.Helper()
	for _, c := range list {
		o := newOffice(t)
		result := call(t.Context(), o.process("a"), c.tool, c.args)
		s := o.waiting(1)[0]
		for name, value := range c.args {
			if text, ok := value.(string); s.Kind != kind || ok && !strings.Contains(s.Text, text) {
				t.Errorf("%s with %s %q is asked as %+v", c.tool, name, value, s)
			}
		}
		for _, wrong := range []coleo.Decision{{Choice: coleo.ChoiceAnswer, Option: 4}, {Choice: coleo.ChoiceAnswer},
			{Key: "y"}} {
			if _, err := o.dispatcher.Answer(t.Context(), "a", s.ID, "", wrong); coleo.ErrorCode(err) != coleo.EInvalid {
				t.Errorf("%s: %+v = %v, want EInvalid", c.tool, wrong, err)
			}
		}
		if _, err := o.dispatcher.Answer(t.Context(), "b", s.ID, "", c.answer); coleo.ErrorCode(err) != coleo.ENotFound {
			t.Errorf("the answer to another arm = %v", err)
		}
		o.answer(s, c.answer)
		if a := <-result; a.text != c.want || a.failed {
			t.Errorf("%s = %+v, want %q", c.tool, a, c.want)
		}
		if _, err := o.dispatcher.Answer(t.Context(), "a", s.ID, "", c.answer); coleo.ErrorCode(err) != coleo.EStale {
			t.Errorf("the second answer = %v, want EStale", err)
		}
	}
}

func TestAClientThatAsksForProgressGetsIt(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	told := make(chan any, 100)
	s := o.inside(Config{progress: time.Millisecond}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, q *mcp.ProgressNotificationClientRequest) {
			select {
			case told <- q.Params.ProgressToken:
			default:
			}
		}})
	call(t.Context(), s, coleo.ToolAskUser, map[string]any{"question": "Well?"})
	for range 2 {
		if token := <-told; token != "p-ask_user" {
			t.Errorf("progress of %v", token)
		}
	}
}
