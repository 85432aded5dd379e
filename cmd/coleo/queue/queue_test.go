package queue

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// A queued prompt names files. Another text for the prompt must not take the files away.
func TestAnEditKeepsTheFilesOfAPrompt(t *testing.T) {
	t.Parallel()
	var sent wire.FollowUpBody
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = wire.FollowUpBody{}
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	client, err := apiclient.New(apiclient.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := &cobra.Command{}
	c.SetContext(t.Context())
	c.SetOut(io.Discard)
	q := coleo.Queue{Entries: []coleo.Queued{{ID: "P1", Text: "one"},
		{ID: "P2", Text: "two", Files: []string{"/a", "/b"}}}}
	for _, k := range []struct{ given, want []string }{{nil, []string{"/a", "/b"}}, {[]string{"/c"}, []string{"/c"}}} {
		if err := changeQueue(c, client, "fix", "edit", q, []string{"2", "other"}, k.given); err != nil ||
			sent.Prompt != "other" || !slices.Equal(sent.Files, k.want) {
			t.Errorf("with the files %v, the prompt becomes %+v, %v", k.given, sent, err)
		}
	}
}
