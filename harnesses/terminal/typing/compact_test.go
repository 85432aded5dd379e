package typing

import (
	"strings"
	"testing"
	"testing/synctest"

	"coleo.dev"
	"coleo.dev/record"
)

// compactSpec describes a program with a command that shortens its conversation.
var compactSpec = strings.NewReplacer(
	"submit = \"ENTER\"\n", "submit = \"ENTER\"\ncompact = \"/compact\"\n",
	"[capabilities]\n", "[capabilities]\ncompact = true\n",
	"[keys]\n", "compact_when = [{ where = \"composer\", pattern = \".*\" }]\n[keys]\n",
).Replace(submitSpec)

// Copilot CLI 1.0.102 shortens a short conversation within 100 ms and shows no work meanwhile. The
// record must then prove the command.
func TestTheRecordProvesThatTheConversationWasShortened(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		work coleo.Work
		want coleo.Code // "" if it succeeds
	}{
		"by order":                              {coleo.Compaction{}, ""},
		"by itself, because it had become long": {coleo.Compaction{Automatic: true}, coleo.EPromptLost},
		"other work":                            {coleo.Remark{Text: "a remark"}, coleo.EPromptLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, compactSpec, 40, 8)
				st.say(composing("type"))
				st.awaitState(coleo.Idle)
				g := st.begin("/compact", st.SendCompact)
				st.say(redrawn("", "/compact"))
				g.await("\r")
				st.say(redrawn("", "type"))
				st.notes(record.Entry{Kind: record.Detail, Work: tt.work})
				<-g.done
				if (g.err != nil || tt.want != "") && coleo.ErrorCode(g.err) != tt.want {
					t.Fatalf("SendCompact: %v, want the code %q", g.err, tt.want)
				}
				if tt.want == "" && g.r.Proof != coleo.ProofReported {
					t.Errorf("the proof is %q, want %q", g.r.Proof, coleo.ProofReported)
				}
			})
		})
	}
}

// A compaction that the record reports before the order must not prove that the order was carried out.
func TestAnEarlierCompactionProvesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, compactSpec, 40, 8)
		st.say(composing("type"))
		st.awaitState(coleo.Idle)
		st.notes(record.Entry{Kind: record.Detail, Work: coleo.Compaction{}})
		g := st.begin("/compact", st.SendCompact)
		st.say(redrawn("", "/compact"))
		g.await("\r")
		st.say(redrawn("", "type"))
		if <-g.done; coleo.ErrorCode(g.err) != coleo.EPromptLost {
			t.Fatalf("SendCompact: %v, want the code %q", g.err, coleo.EPromptLost)
		}
	})
}
