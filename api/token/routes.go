package token

import (
	"slices"
	"strings"

	"coleo.dev"
)

// Need says which operator tokens can use a route. It is a scope or one of the constants below.
type Need string

// These constants are the values of Need that are not scopes.
const (
	Any  Need = "any"  // every token is enough, because the route reveals nothing about arms
	None Need = "none" // no token is enough, because only a person can use the route
)

// routes contains every route of the API, as its method and its pattern. If a route is missing from
// this table, no token can use the route, and a server with the route does not start.
var routes = map[Need][]string{
	Any: {"GET /api/health", "GET /api/token", "GET /api/openapi.json", "/api/", "/"},
	Need(coleo.MayRead): {
		"GET /api/status", "GET /api/agents", "GET /api/harnesses", "GET /api/models", "GET /api/opencode/providers",
		"GET /api/cost", "GET /api/opencode/health", "GET /api/audit", "GET /api/triggers", "GET /api/triggers/history",
		"GET /api/arms", "GET /api/arms/{id}", "GET /api/arms/{id}/state", "GET /api/arms/{id}/display",
		"GET /api/arms/{id}/explain", "GET /api/arms/{id}/usage", "GET /api/arms/{id}/last",
		"GET /api/arms/{id}/screen", "GET /api/arms/{id}/recording", "GET /api/arms/{id}/output",
		"GET /api/arms/{id}/wait", "GET /api/arms/{id}/mode", "GET /api/arms/{id}/queue", "GET /api/arms/{id}/tasks",
		"GET /api/arms/{id}/diff", "GET /api/arms/{id}/files", "GET /api/arms/{id}/checkpoints",
		"GET /api/arms/{id}/comments", "GET /api/arms/{id}/budget", "GET /api/arms/{id}/on-limit",
		"GET /api/arms/{id}/memo", "GET /api/arms/{id}/thread", "GET /api/arms/{id}/events", "GET /api/events",
		"GET /api/runs", "GET /api/runs/{run}", "GET /api/runs/{run}/events", "GET /api/runs/{run}/end",
		"GET /api/runs/{run}/graph", "GET /api/why", "GET /api/suspensions",
		"GET /api/threads", "GET /api/threads/{harness}/{id}", "GET /api/threads/{harness}/{id}/summary",
		"GET /ws", "GET /ws/terminal/{id}",
	},
	Need(coleo.MayPrompt): {
		"POST /api/arms/{id}/prompt", "POST /api/arms/{id}/steer", "POST /api/arms/{id}/compact",
		"POST /api/arms/{id}/interrupt", "POST /api/arms/{id}/abort", "POST /api/arms/{id}/followup",
		"PATCH /api/arms/{id}/queue/{entry}", "DELETE /api/arms/{id}/queue/{entry}", "POST /api/arms/{id}/queue/move",
		"POST /api/arms/{id}/queue/pause", "POST /api/arms/{id}/queue/resume", "POST /api/arms/{id}/pause",
		"POST /api/arms/{id}/comments", "DELETE /api/arms/{id}/comments", "POST /api/arms/{id}/comments/send",
		"POST /api/arms/{id}/resume", "POST /api/arms/{id}/unpark", "PUT /api/arms/{id}/memo", "PATCH /api/arms/{id}/memo",
	},
	Need(coleo.MaySpawn): {
		"POST /api/arms", "POST /api/arms/{id}/spawn", "POST /api/arms/{id}/recover", "POST /api/arms/{id}/kill",
		"POST /api/arms/{id}/model", "POST /api/arms/{id}/thread", "POST /api/threads/{harness}/{id}/clone",
	},
	Need(coleo.MayApprove): {
		"POST /api/arms/{id}/respond", "POST /api/arms/{id}/suspension", "POST /api/suspensions/{id}",
		"POST /api/arms/{id}/mode",
	},
	None: {
		"DELETE /api/arms/{id}", "POST /api/arms/{id}/rename", "POST /api/arms/{id}/labels",
		"POST /api/arms/{id}/budget",
		"POST /api/arms/{id}/window",
		"POST /api/arms/{id}/lease", "POST /api/arms/{id}/input", "POST /api/arms/{id}/resize",
		"POST /api/arms/{id}/restore",  // only for people, because a restore overwrites and deletes files
		"POST /api/arms/{id}/merge",    // only for people, because a merge moves branches of the user
		"POST /api/arms/{id}/fork",     // only for people, because the fork gets the other arm's permissions and variables
		"POST /api/arms/{id}/handover", // only for people, because the successor gets the arm's permissions and variables
		"POST /api/arms/{id}/on-limit", // only for people, because the alternatives to waiting can include a hand-over
		"PATCH /api/threads/{harness}/{id}", "DELETE /api/threads/{harness}/{id}",
		"GET /api/browsers", "POST /api/browsers/links", "DELETE /api/browsers", "DELETE /api/browsers/{id}",
		"POST /api/token", "GET /api/tokens", "POST /api/tokens", "DELETE /api/tokens/{name}",
		"GET /api/signin", "POST /api/signin",
		// a trigger starts arms later
		"POST /api/triggers", "DELETE /api/triggers/{name}", "POST /api/triggers/{name}/run",
		"POST /hooks/{name}", // this needs no token, because a webhook checks the signature of the request
	},
}

// Reach says to which arms a route applies. If a token is limited to some arms, the Reach
// determines whether the token can use the route and what the answer contains.
type Reach string

// The values of Reach.
const (
	OneArm   Reach = "arm"      // the route applies to the arm in its path, which the token must reach
	Filtered Reach = "filtered" // the answer contains only the arms that the token reaches
	NoArm    Reach = "no arm"   // the answer contains nothing about arms
	NewArm   Reach = "new arm"  // the route creates an arm, which gets the labels of the token
	Beyond   Reach = "beyond"   // limited tokens cannot use the route, because its answer can contain any arm
)

// reaches contains the Reach of routes that have no arm in their path and that at least one token
// can use.
var reaches = map[Reach][]string{
	Filtered: {
		"GET /api/arms", "GET /api/status", "GET /api/opencode/health", "GET /api/events", "GET /api/suspensions",
		"GET /api/runs", "GET /api/runs/{run}", "GET /api/runs/{run}/events", "GET /api/runs/{run}/end",
		"GET /api/runs/{run}/graph", "GET /ws", "POST /api/suspensions/{id}",
	},
	NoArm:  {"GET /api/agents", "GET /api/harnesses", "GET /api/models", "GET /api/opencode/providers"},
	NewArm: {"POST /api/arms"},
	Beyond: {
		"GET /api/cost", "GET /api/audit", "GET /api/triggers", "GET /api/triggers/history", "GET /api/why",
		"GET /api/threads", "GET /api/threads/{harness}/{id}",
		"GET /api/threads/{harness}/{id}/summary", "POST /api/threads/{harness}/{id}/clone", "POST /api/arms/{id}/thread",
	},
}

// ReachOf returns the Reach of a route. It returns false if the route is not in the table.
func ReachOf(route string) (Reach, bool) {
	for reach, list := range reaches {
		if slices.Contains(list, route) {
			return reach, true
		}
	}
	need, ok := NeedOf(route)
	_, path, _ := strings.Cut(route, " ")
	switch {
	case strings.HasPrefix(path, "/api/arms/{id}"), strings.HasPrefix(path, "/ws/terminal/{id}"):
		return OneArm, ok
	case need == Any, need == None:
		return NoArm, ok
	}
	return Beyond, false
}

// NeedOf returns what a route needs. It returns false if the route is not in the table.
func NeedOf(route string) (Need, bool) {
	for need, list := range routes {
		if slices.Contains(list, route) {
			return need, true
		}
	}
	return None, false
}

// Check returns EForbidden if a token does not allow a route.
func Check(t coleo.OperatorToken, route string) error {
	need, _ := NeedOf(route)
	switch {
	case need == Any:
		return nil
	case slices.Contains(t.Scopes, coleo.TokenScope(need)):
		reach, _ := ReachOf(route)
		if reach == Beyond && t.Limited() || reach == NewArm && len(t.Arms) > 0 {
			return coleo.Errorf(coleo.EForbidden, "the operator token %q is limited to some arms, and this can be about any "+
				"arm; nothing was done", t.Name)
		}
		return nil
	case need == None:
		return coleo.Errorf(coleo.EForbidden, "no operator token allows this, so nothing was done: only a person does it")
	}
	return coleo.Errorf(coleo.EForbidden, "the operator token %q does not have the scope %s, so nothing was done", t.Name,
		need)
}

// Routes returns all routes of the table.
func Routes() []string {
	var out []string
	for _, list := range routes {
		out = append(out, list...)
	}
	return out
}
