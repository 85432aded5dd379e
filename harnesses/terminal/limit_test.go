package terminal

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
)

// These are the errors that real agent CLIs showed in the end, when their scripted model or the network had
// failed. docs/limits.md describes how each failure was caused.
func TestTheWordsOfEachAgentCLINameItsLimit(t *testing.T) {
	t.Parallel()
	for folder, errors := range map[string]map[string]coleo.LimitKind{
		"claude-code-2.1.329": {
			"Please run /login · API Error: 401 token has expired": coleo.LimitLogin,
			"Prompt is too long": coleo.LimitContext,
			"API Error: Request rejected (429) · Rate limit reached for mock-1":                      coleo.LimitRate,
			"API Error: Request rejected (429) · You've hit your limit · resets 3am (Europe/Berlin)": coleo.LimitQuota,
			"API Error: 529 Overloaded. This is a server-side issue, usually temporary":              coleo.LimitOverload,
			"API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)":  coleo.LimitNetwork,
			"API Error: Connection to the API was lost (ECONNRESET). This is usually temporary":      coleo.LimitNetwork,
		},
		"codex-0.169.0": {
			"unexpected status 401 Unauthorized: token has expired":               coleo.LimitLogin,
			"exceeded retry limit, last status: 429 Too Many Requests":            coleo.LimitRate,
			"unexpected status 529 <unknown status code>: Overloaded":             coleo.LimitOverload,
			`{"error":{"code":"400","message":"prompt is too long: 250000 tok"}}`: coleo.LimitContext,
		},
		"opencode-1.18.33": {
			"You've hit your limit · resets 3am (Europe/Berlin)":                                  coleo.LimitQuota,
			"Cannot connect to API: Unable to connect. Is the computer able to access the url?":   coleo.LimitNetwork,
			"Cannot connect to API: The socket connection was closed unexpectedly. For more info": coleo.LimitNetwork,
		},
		"gemini-0.61.0": {
			`[API Error: {"error":{"code":401,"message":"token has expired"}}]`: coleo.LimitLogin,
			"[API Error: terminated]": coleo.LimitNetwork,
			"[API Error: exception TypeError: fetch failed sending request]":        coleo.LimitNetwork,
			`[API Error: {"error":{"code":400,"message":"prompt is too long: 2"}}]`: coleo.LimitContext,
		},
		"aider-0.86": {
			"litellm.AuthenticationError: AuthenticationError: OpenAIException - token has expired": coleo.LimitLogin,
			"litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.": coleo.LimitNetwork,
			"litellm.APIError: APIError: OpenAIException - Overloaded":                              coleo.LimitOverload,
			"litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for mock": coleo.LimitRate,
			"litellm.RateLimitError: RateLimitError: OpenAIException - You've hit your limit":       coleo.LimitQuota,
			"litellm.APIConnectionError: APIConnectionError: peer closed connection without":        coleo.LimitNetwork,
		},
		"copilot-1.0.102": {
			"Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).": coleo.LimitLogin,
			"Could not connect to local model provider at http://127.0.0.1:1/v1.":      coleo.LimitNetwork,
			"Failed native model HTTP request: error decoding response body: error reading a body from connection: " +
				"unexpected EOF during chunk size line": coleo.LimitNetwork,
			"429 Rate limit reached for mock-1": coleo.LimitRate,
		},
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			spec, err := rules.ParseSpec(casttest.Description(t, folder))
			if err != nil {
				t.Fatal(err)
			}
			for text, want := range errors {
				got := LimitIn(spec, []string{text}, time.Unix(0, 0))
				if got == nil || got.Kind != want {
					t.Errorf("%q names %+v, want %s", text, got, want)
				}
			}
		})
	}
}
