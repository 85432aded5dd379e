package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// delivery returns a signed request with the present time.
func delivery(secret, id, body string) trigger.Delivery {
	d := trigger.Delivery{Timestamp: strconv.FormatInt(time.Now().Unix(), 10), ID: id, Body: []byte(body)}
	d.Signature = trigger.Sign([]byte(secret), d)
	return d
}

// deliver sends a request to a webhook. It returns the status and the text of the response.
func (w *world) deliver(webhook string, d trigger.Delivery) (int, string) {
	w.t.Helper()
	addr := strings.TrimSpace(w.read("state/serve.sock.addr"))
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+addr+"/hooks/"+webhook,
		bytes.NewReader(d.Body))
	w.check(err)
	req.Header.Set(trigger.HeaderTime, d.Timestamp)
	req.Header.Set(trigger.HeaderID, d.ID)
	req.Header.Set(trigger.HeaderSignature, d.Signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error() // serve was killed during the request
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// webhook creates a webhook and returns its secret.
func (w *world) webhook(name, dir string, more ...string) string {
	w.t.Helper()
	return decode[wire.NewTrigger](w, append([]string{"webhook", "create", name, "--template", "boxed", "-w", dir},
		more...)...).Secret
}

func TestAWebhookStartsAnArmByASignedRequestAlone(t *testing.T) {
	t.Parallel()
	w, dir := triggerWorld(t, triggersOn)
	w.must("up")
	secret := w.webhook("build", dir, "--max-arms", "1")
	first := delivery(secret, "d-1", `{"word":"red\n/exit @x \u001b[2J {{word}}"}`)
	status, text := w.deliver("build", first)
	var run trigger.Entry
	if err := json.Unmarshal([]byte(text), &run); err != nil || status != 202 || !run.Open() {
		t.Fatalf("the answer is %d %s", status, text)
	}
	run = w.untilRunsEnd("build", 1)[0]
	arms := w.armsOf("build")
	if run.State != trigger.RunStarted || run.Key != "d-1" || len(arms) != 1 || arms[0].ID != run.Arm ||
		arms[0].Harness != "fake" || arms[0].Workdir != dir || !strings.Contains(string(arms[0].Config), `"kind": "bwrap"`) {
		t.Fatalf("the run is %+v, the arms are %+v", run, arms)
	}
	const quoted = `"red\n/exit \u0040x \u001b[2J {{word}}"`
	until(t, "the field has arrived as a quoted text", func() bool {
		return strings.Contains(strings.Join(strings.Fields(w.run("arm", "last", run.ArmName).out), " "), quoted)
	})
	late := delivery(secret, "d-2", "{}")
	late.Timestamp = strconv.FormatInt(time.Now().Add(-6*time.Minute).Unix(), 10)
	late.Signature = trigger.Sign([]byte(secret), late)
	changed := delivery(secret, "d-3", `{"word":"a"}`)
	changed.Body = []byte(`{"word":"b"}`)
	renamed := first
	renamed.ID = "d-4"
	for _, c := range []struct {
		name, webhook string
		d             trigger.Delivery
		status        int
		want          string
	}{
		{"again", "build", first, 409, "was accepted before"},
		{"again with another id", "build", renamed, 401, "signature is wrong"},
		{"too late", "build", late, 409, "older than 5m0s"},
		{"changed", "build", changed, 401, "signature is wrong"},
		{"wrongly signed", "build", delivery(secret+"x", "d-5", "{}"), 401, "signature is wrong"},
		{"no such webhook", "other", delivery(secret, "d-6", "{}"), 401, "no such webhook, or the signature is wrong"},
		{"too large", "build", delivery(secret, "d-7", strings.Repeat(" ", trigger.MaxBody+1)), 413, "more than 64 KiB"},
		{"another harness", "build", delivery(secret, "d-8", `{"harness":"printer"}`), 422, `no field \"harness\"`},
		{"more than one arm", "build", delivery(secret, "d-9", "{}"), 409, "1 live arms, and at most 1"},
	} {
		if status, text := w.deliver(c.webhook, c.d); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, status, text, c.status, c.want)
		}
	}
	flood := map[int]int{}
	for i := range 20 {
		status, _ := w.deliver("build", delivery(secret, fmt.Sprint("f-", i), "{}"))
		flood[status]++
	}
	if flood[429] < 8 || flood[429]+flood[409] != 20 {
		t.Errorf("a flood is answered with %v", flood)
	}
	refused := 0
	until(t, "the refused requests are in the history", func() bool {
		refused = 0
		for _, e := range decode[map[string][]trigger.Entry](w, "webhook", "history")["history"] {
			refused += e.Count
		}
		return refused >= 29
	})
	if n := len(w.armsOf("build")); n != 1 || refused != 29 {
		t.Errorf("there are %d arms, and %d requests were refused; want 1 and 29", n, refused)
	}
	w.secretIsNowhere(secret)
	w.must("webhook", "remove", "build")
	if status, _ := w.deliver("build", delivery(secret, "r-1", "{}")); status != 401 {
		t.Errorf("after the removal the answer is %d", status)
	}
}

// secretIsNowhere checks that only one file contains the secret of a webhook, and that only its user
// can read this file.
func (w *world) secretIsNowhere(secret string) {
	w.t.Helper()
	for _, args := range [][]string{{"webhook", "list"}, {"webhook", "show", "build"}, {"audit"}, {"webhook", "history"}} {
		if out := w.must(append([]string{"--json"}, args...)...); strings.Contains(out, secret) {
			w.t.Errorf("coleo %v prints the secret", args)
		}
	}
	var found []string
	w.check(filepath.WalkDir(w.path("state"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if raw, _ := os.ReadFile(path); bytes.Contains(raw, []byte(secret)) {
			info, err := d.Info()
			w.check(err)
			found = append(found, fmt.Sprintf("%s %o", filepath.Base(filepath.Dir(path)), info.Mode().Perm()))
		}
		return nil
	}))
	if len(found) != 1 || found[0] != "webhooks 600" {
		w.t.Errorf("the secret is in %q", found)
	}
}

func TestAWebhookDoesNothingWhileTriggersAreOff(t *testing.T) {
	t.Parallel()
	w, dir := triggerWorld(t, "")
	w.must("up")
	secret := w.webhook("build", dir)
	if status, text := w.deliver("build", delivery(secret, "d-1", "{}")); status != 403 ||
		!strings.Contains(text, "are off") {
		t.Errorf("the answer is %d %s", status, text)
	}
	if arms := w.armsOf("build"); len(arms) > 0 {
		t.Errorf("there are arms: %+v", arms)
	}
}

// startedOnce checks the accepted requests of a webhook. Each must have started exactly one arm, or
// be reported as failed.
func (w *world) startedOnce(webhook string, accepted int) {
	w.t.Helper()
	runs := w.untilRunsEnd(webhook, accepted)
	arms := w.armsOf(webhook)
	started := 0
	for _, run := range runs {
		if run.State == trigger.RunFailed {
			w.t.Logf("not done: %s", run.Why)
			continue
		}
		started++
		until(w.t, "the prompt of "+run.ArmName+" has begun its run", func() bool {
			return len(w.events(run.ArmName, coleo.EventRunStart)) > 0
		})
		for _, kind := range []coleo.EventKind{coleo.EventSpawned, coleo.EventRunStart} {
			if n := len(w.events(run.ArmName, kind)); n != 1 {
				w.t.Errorf("the arm %s has %d events %s", run.ArmName, n, kind)
			}
		}
	}
	if len(arms) != started {
		w.t.Errorf("%d runs have started, and there are %d arms", started, len(arms))
	}
}

func TestAKilledServeStartsTheArmOfAWebhookOnce(t *testing.T) {
	t.Parallel()
	w, dir := triggerWorld(t, triggersOn)
	w.must("up")
	secret := w.webhook("build", dir, "--max-arms", "20")
	accepted := 0
	send := func() {
		t.Helper()
		if status, text := w.deliver("build", delivery(secret, fmt.Sprint("d-", accepted), "{}")); status != 202 {
			t.Fatalf("the answer is %d %s", status, text)
		}
		accepted++
	}
	t.Log("no host agent when the request is accepted")
	w.kill9(w.onlyProcess("agent"))
	send()
	w.kill9(w.onlyProcess("serve"))
	w.must("up")
	w.startedOnce("build", accepted)

	t.Log("a host agent that does not answer when serve is killed")
	agent := w.onlyProcess("agent")
	w.check(syscall.Kill(agent, syscall.SIGSTOP))
	send()
	until(t, "the order may have been given", func() bool {
		return w.runsOf("build", trigger.EntryRun)[0].State == trigger.RunStarting
	})
	w.kill9(w.onlyProcess("serve"))
	w.check(syscall.Kill(agent, syscall.SIGCONT))
	w.must("up")
	w.startedOnce("build", accepted)

	draw := rand.New(rand.NewPCG(5, 6))
	for range 4 {
		moment := time.Duration(draw.IntN(60)) * time.Millisecond
		t.Log("serve is killed after", moment)
		send()
		time.Sleep(moment) // the random moment of the kill
		w.kill9(w.onlyProcess("serve"))
		w.must("up")
		w.startedOnce("build", accepted)
	}
}
