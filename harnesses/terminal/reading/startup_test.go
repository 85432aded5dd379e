package reading_test

import (
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
)

// These are the questions that agent CLIs ask before they accept a prompt, in terminals of 60
// columns. The kind and the options must be right too, because the labels of recordings do not
// contain them.
func TestWhatIsAskedAtTheStartHasItsKindAndOptions(t *testing.T) {
	t.Parallel()
	trust := []string{"No, exit", "Yes, I trust this folder"}
	for _, c := range []struct {
		recording, title string
		kind             coleo.DialogKind
		options          []string
		cut              bool // the dialog's subject does not fit on the screen
	}{
		{"claude-code-sizes/2.1.330-60x20-untrusted",
			"Quick safety check: Is this a project you created or one you trust?", coleo.DialogTrust, trust, false},
		{"claude-code-sizes/2.1.330-60x20-trust-settings",
			"Trusting this folder loads .claude/settings.json (runs commands) and .mcp.json here or above (MCP " +
				"servers).",
			coleo.DialogTrust, trust, true},
		{"claude-code-sizes/2.1.330-60x20-trust-settings", "2 new MCP servers found in this project", coleo.DialogTrust,
			[]string{"probe", "other"}, false},
		{"claude-code-sizes/2.1.330-60x20-mcp-server", "New MCP server found in this project: probe", coleo.DialogTrust,
			[]string{"Use this MCP server", "Use this and all future MCP servers in this project",
				"Continue without using this MCP server"}, false},
		{"claude-code-sizes/2.1.330-60x20-login-method", "How do you want to sign in?", coleo.DialogLogin,
			[]string{"Sign in with your Console account (recommended)",
				"Create an API key (legacy) · adds a key to your Console workspace", "Go back"}, false},
		{"claude-code-sizes/2.1.330-60x20-sign-in", "Paste code here if prompted", coleo.DialogLogin, nil, false},
		{"claude-code-sizes/2.1.330-60x20-settings-error",
			"Files with errors are skipped entirely, not just the invalid settings.", coleo.DialogOther,
			[]string{"Fix with Claude", "Exit and fix manually", "Continue without these settings"}, false},
		{"claude-code-sizes/2.1.197-60x20-bare", "Do you want to use this API key?", coleo.DialogLogin,
			[]string{"Yes", "No (recommended)"}, false},
		{"claude-code-sizes/2.1.197-60x20-bare", "Quick safety check: Is this a project you created or one you trust?",
			coleo.DialogTrust, []string{"Yes, I trust this folder", "No, exit"}, false},
		{"claude-code-sizes/2.1.197-60x20-imports", "Allow external CLAUDE.md file imports?", coleo.DialogTrust,
			[]string{"Yes, allow external imports", "No, disable external imports"}, false},
		{"codex-sizes/0.169.0-60x20-hooks", "Hooks need review", coleo.DialogTrust,
			[]string{"Review hooks", "Trust all and continue", "Continue without trusting (hooks won't run)"}, false},
		{"codex-sizes/0.169.0-60x20-update", "Update available · 0.169.0 → 9.9.9", coleo.DialogUpdate,
			[]string{"Update now (runs `npm install -g @openai/codex`)", "Skip", "Skip until next version"}, false},
		{"codex-sizes/0.169.0-60x20-api-key", "Sign in another way", coleo.DialogLogin,
			[]string{"Use an OpenAI API key", "Use Amazon Bedrock"}, false},
		{"codex-sizes/0.169.0-60x20-api-key", "Use your own OpenAI API key for usage-based billing", coleo.DialogLogin,
			nil, false},
		{"codex-sizes/0.145.0-60x20-trust", "Do you trust the contents of this directory?", coleo.DialogTrust,
			[]string{"Yes, continue", "No, quit"}, false},
		{"codex-sizes/0.157.0-60x20-trust", "Folder access", coleo.DialogTrust, []string{"Trust and continue", "Quit"},
			false},
		{"aider-sizes/0.86.2-60x20-start", "No git repo found, create one to track aider's changes (recommended)?",
			coleo.DialogPermission, []string{"Yes", "No"}, true},
		{"aider-sizes/0.86.2-60x20-start", "Open documentation URL for more info?", coleo.DialogOther,
			[]string{"Yes", "No", "Don't ask again"}, false},
		{"gemini-sizes/0.61.0-60x20-trust-settings", "Do you trust the files in this folder?", coleo.DialogTrust,
			[]string{"Trust folder (a-folder-with-quite-a-long-name-th…", "Trust parent folder (w)", "Don't trust"},
			true},
		{"gemini-sizes/0.61.0-60x20-sign-in", "When using Vertex AI, you must specify either:", coleo.DialogLogin, nil,
			false},
	} {
		t.Run(c.recording+" "+c.title, func(t *testing.T) {
			t.Parallel()
			cast := casttest.Cast(t, c.recording)
			var found *coleo.Dialog
			harness(t, c.recording).Replay(reading.Recording{Cast: cast, Until: -1}, func(change coleo.Change) {
				if d := change.Reading.Dialog; d != nil && d.Title == c.title {
					found = d
				}
			})
			if found == nil {
				t.Fatal("no such dialog was read")
			}
			if found.Kind != c.kind || !slices.Equal(found.Options, c.options) || found.Truncated != c.cut {
				t.Errorf("read as %s with %q, cut off %t; want %s with %q, cut off %t", found.Kind, found.Options,
					found.Truncated, c.kind, c.options, c.cut)
			}
		})
	}
}
