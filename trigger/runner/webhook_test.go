package runner

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// signed returns a request that is signed at the present time of the bench.
func (b *bench) signed(secret, id, body string) trigger.Delivery {
	d := trigger.Delivery{Timestamp: strconv.FormatInt(b.time().Unix(), 10), ID: id, Body: []byte(body)}
	d.Signature = trigger.Sign([]byte(secret), d)
	return d
}

// addWebhook adds a webhook with the name w, and returns its secret.
func (b *bench) addWebhook() string {
	b.t.Helper()
	b.Secrets = b.dir + "/webhooks"
	made, err := b.Add(b.t.Context(), wire.TriggerRequest{Name: "w", Kind: trigger.Webhook, Template: "t", Workdir: b.dir,
		MaxArms: trigger.MostArms})
	if err != nil || len(made.Secret) < 50 {
		b.t.Fatalf("%+v, %v", made, err)
	}
	return made.Secret
}

func TestARequestIsAcceptedOnceHoweverOftenItComes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secret := b.addWebhook()
	d := b.signed(secret, "id", `{"what":"it"}`)
	codes := map[coleo.Code]int{}
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 10 {
		all.Go(func() {
			_, err := b.Deliver(t.Context(), "w", d)
			mu.Lock()
			defer mu.Unlock()
			codes[coleo.ErrorCode(err)]++
		})
	}
	all.Wait()
	if fmt.Sprint(codes) != "map[:1 conflict:9]" {
		t.Errorf("ten times at once: %v", codes)
	}
	b.does()
	if len(b.orders) != 1 || b.requests[0].InitialPrompt != `do "it"` || b.requests[0].Harness != "h" {
		t.Errorf("the requests are %+v", b.requests)
	}
	b.DB.Close()
	b.open(true)
	b.Secrets = b.dir + "/webhooks"
	if _, err := b.Deliver(t.Context(), "w", d); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("again, at another serve: %v", err)
	}
	b.writeRefused(t.Context())
	b.tells("at the end", "run started0", "refused 9", "refused 1")
}

// Two refusals of the same kind have different reasons. Each must have an entry with its own reason,
// time and count.
func TestEachReasonOfARefusalHasItsOwnEntry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secret := b.addWebhook()
	refused := func(times int, d trigger.Delivery) {
		t.Helper()
		for range times {
			if _, err := b.Deliver(t.Context(), "w", d); coleo.ErrorCode(err) != coleo.EInvalid {
				t.Fatalf("%v, want %s", err, coleo.EInvalid)
			}
		}
		b.pass(time.Minute)
	}
	begin := b.time().UTC()
	refused(3, b.signed(secret, "a", "no JSON"))
	refused(2, b.signed(secret, "b", `{"other":"it"}`))
	for n := range mostReasons + 3 {
		refused(1, b.signed(secret, "c", fmt.Sprintf(`{"other%02d":"it"}`, n)))
	}
	b.writeRefused(t.Context())
	list, err := b.History(t.Context(), "w", 0, 100)
	if err != nil || len(list) != mostReasons+1 {
		t.Fatalf("the history has %d entries, %v; want %d", len(list), err, mostReasons+1)
	}
	slices.Reverse(list)
	for i, want := range []struct {
		why   string
		count int
		at    time.Duration
	}{
		{"the body is not one JSON object", 3, 0},
		{"the webhook takes no field \"other\";", 2, time.Minute},
		{"the webhook takes no field \"other00\";", 1, 2 * time.Minute},
	} {
		if e := list[i]; !strings.Contains(e.Why, want.why) || e.Count != want.count || !e.Time.Equal(begin.Add(want.at)) {
			t.Errorf("entry %d is %+v, want %d times %q after %s", i, e, want.count, want.why, want.at)
		}
	}
	if e := list[mostReasons]; !strings.HasPrefix(e.Why, manyReasons) || e.Count != 5 {
		t.Errorf("the last entry is %+v, want the 5 further requests", e)
	}
}

// The history of a webhook is bounded. By this history, the runner recognizes a repeated request. A
// flood of forged requests must not push a run out of the history too early. The run must stay as
// long as a copy of its request would still be valid.
func TestAFloodDoesNotMakeAnOldRequestNew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.signed(b.addWebhook(), "id", "{}")
	if _, err := b.Deliver(t.Context(), "w", d); err != nil {
		t.Fatal(err)
	}
	b.does()
	forged := d
	forged.ID = "other"
	for range 1200 {
		if _, err := b.Deliver(t.Context(), "w", forged); coleo.ErrorCode(err) != coleo.EUnauthorized {
			t.Fatal(err)
		}
		b.writeRefused(t.Context())
	}
	b.pass(4 * time.Minute)
	if _, err := b.Deliver(t.Context(), "w", d); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("the same request after a flood: %v", err)
	}
	b.pass(2 * time.Hour)
	if _, err := b.Deliver(t.Context(), "w", forged); err == nil {
		t.Error("a forged request is accepted")
	}
	b.writeRefused(t.Context())
	if list, err := b.History(t.Context(), "w", 0, 10_000); err != nil || len(list) != 1000 {
		t.Errorf("the history has %d entries, %v; want 1000", len(list), err)
	}
}

func TestASecretIsForItsUserAndGoesWithItsWebhook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secret := b.addWebhook()
	files, err := os.ReadDir(b.Secrets)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	info, err := files[0].Info()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if _, err := b.Add(t.Context(), wire.TriggerRequest{Name: "w", Kind: trigger.Webhook, Template: "t",
		Workdir: b.dir}); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a second one: %v", err)
	}
	if _, err := b.Add(t.Context(), wire.TriggerRequest{Name: "v", Kind: trigger.Webhook, Template: "t", Workdir: b.dir,
		Cron: "@daily"}); coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "no times") {
		t.Errorf("one with a time: %v", err)
	}
	if err := b.Remove(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(b.Secrets); err != nil || len(files) != 0 {
		t.Errorf("after the removal there are %v, %v", files, err)
	}
	if _, err := b.Deliver(t.Context(), "w", b.signed(secret, "id", "")); coleo.ErrorCode(err) != coleo.EUnauthorized {
		t.Errorf("after the removal: %v", err)
	}
}

// The error must name the missing field, and no flag of the command line, because the client of a
// webhook knows no flags.
func TestARequestIsToldWhichFieldIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	what := b.template.Args["what"]
	what.Default, what.Description = nil, "what to do"
	b.template.Args["what"] = what
	secret := b.addWebhook()
	_, err := b.Deliver(t.Context(), "w", b.signed(secret, "id", `{}`))
	if err == nil || strings.Contains(err.Error(), "--arg") || coleo.ErrorCode(err) != coleo.EInvalid ||
		!strings.Contains(err.Error(), `lacks the field "what" (what to do)`) {
		t.Errorf("a request without the field: %v", err)
	}
}

func TestAWebhookTakesSomeRequestsInAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secret := b.addWebhook()
	send := func(id int) coleo.Code {
		_, err := b.Deliver(t.Context(), "w", b.signed(secret, strconv.Itoa(id), "{}"))
		return coleo.ErrorCode(err)
	}
	const most = 10 // as docs/triggers.md says
	for id := range most {
		if code := send(id); code != "" {
			t.Fatalf("request %d: %s", id, code)
		}
	}
	if code := send(most); code != coleo.EBusy {
		t.Errorf("request %d in a minute: %q, want %s", most, code, coleo.EBusy)
	}
	b.pass(time.Minute)
	if code := send(most); code != "" {
		t.Errorf("a minute later: %s", code)
	}
}
