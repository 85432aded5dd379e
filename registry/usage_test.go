package registry

import (
	"testing"

	"coleo.dev"
	"coleo.dev/record/databasetest"
)

// A budget can stop a turn only if tokens are reported during the turn. So when a reply begins, the tokens of
// all earlier replies must be reported, except those of the reply right before it.
func TestTheTokensOfAReplyAreReportedDuringTheTurn(t *testing.T) {
	t.Parallel()
	for _, b := range builtins() {
		if recordings[b.name] == "" {
			continue
		}
		for _, path := range recordingsOf(t, b.name) {
			begun, counted, most := 0, 0, 0
			last := ""
			for _, a := range databasetest.WorkIn(t, b.hooks.Record, path) {
				switch a.Work.(type) {
				case coleo.Prompted:
					begun, counted, last = 0, 0, ""
				case coleo.ReplyUsage:
					counted++
				case coleo.ToolCall, coleo.AssistantText:
					if a.Reply != "" && a.Reply != last {
						begun, last = begun+1, a.Reply
					}
				}
				if most = max(most, begun); begun > counted+2 {
					t.Errorf("%s: %d replies of a turn have begun, and the tokens of %d are reported", path, begun, counted)
					break
				}
			}
			if most < 2 {
				t.Errorf("%s: no turn has two replies, so the recording shows nothing", path)
			}
		}
	}
}
