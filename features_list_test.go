package coleo_test

// row is one capability that users of agent systems expect.
type row struct {
	id   string // begins with M for the control of agents, R for runs and events, or G for the graph
	what string
	try  string // a command or request with which a user can try it; "" if there is none
	not  string // why Coleo does not have the capability; "" if Coleo has it
}

var rows = []row{
	{"M1", "start, end and a graceful stop", "`coleo up`, `coleo down`", ""},
	{"M2", "modes", "`coleo arm mode NAME [MODE]`, `POST /api/arms/{id}/mode`", ""},
	{"M3", "switch the mode; the event of the mode comes before that of its model",
		"`coleo arm mode NAME MODE --interrupt`", ""},
	{"M4", "switch the model, for an arm or a conversation", "`coleo arm model NAME PROVIDER/MODEL --scope thread`", ""},
	{"M5", "list the models, and who is logged in", "`coleo models list`, `coleo models logins`, `GET /api/models`", ""},
	{"M6", "conversations: create, switch, list, rename, clone, delete, preview",
		"`coleo thread list`, `coleo thread search WORDS`, `GET /api/threads`", ""},
	{"M7", "one arm holds a conversation", "`coleo thread resume ID -n NAME`", ""},
	{"M8", "conversations of a project", "`coleo thread list --project .`", ""},
	{"M9", "a prompt with attached files", "`coleo arm prompt NAME --file PATH TEXT`", ""},
	{"M10", "abort a turn", "`coleo arm interrupt NAME`", ""},
	{"M11", "steer a running turn", "`coleo arm steer NAME TEXT`", ""},
	{"M12", "a durable queue of follow-ups", "`coleo arm follow-up NAME TEXT`, `coleo arm queue NAME`", ""},
	{"M13", "approve or deny a tool", "`coleo arm approve NAME`, `POST /api/arms/{id}/respond`", ""},
	{"M14", "rules that approve or deny by tool and by category, and grants",
		"`coleo arm spawn --policy read`, `coleo policy test COMMAND`, `coleo policy grant NAME --tool TOOL`", ""},
	{"M15", "questions of the agent, with one or several choices", "`coleo arm questions`, `coleo arm answer NAME 1,3`, " +
		"`coleo arm answer NAME --text TEXT`", ""},
	{"M16", "approve or reject a plan", "`coleo arm approve NAME`", ""},
	{"M17", "requests for access", "`coleo arm questions`, `coleo arm approve NAME`", ""},
	{"M18", "lists of tasks", "`coleo arm todos NAME`", ""},
	{"M19", "subagents are arms", "`coleo arm spawn --tools all`, then `coleo arm approve NAME`; the tools `spawn_arm` " +
		"and `await_arm`", ""},
	{"M20", "forked conversations", "`coleo arm fork NAME -n NEW`, `POST /api/arms/{id}/fork`", ""},
	{"M21", "follow all events", "`coleo run events --follow --from CURSOR`, `GET /api/events`, `/ws`", ""},
	{"M22", "a snapshot of an arm for display, at most twice a second", "`GET /api/arms/{id}/display`", ""},
	{"M23", "an event when that snapshot changes", "the channel `display` of `/ws`", ""},
	{"M24", "one table of all events, and of those that each agent CLI reports",
		"[events.md](events.md), [api.md](api.md)", ""},
	{"M25", "repeated tasks that can be added and removed",
		"`coleo serve` and `coleo agent` repeat their own: package `repeat`", ""},
	{"M26", "usage of tokens and money", "`coleo cost --by arm,day`, `GET /api/cost`", ""},
	{"M27", "a rolling summary of a conversation, from its own texts",
		"`coleo thread summary ID`, `GET /api/threads/{harness}/{id}/summary`", ""},
	{"M28", "work folders as git worktrees, removed without losing work",
		"`coleo arm spawn -n NAME --worktree`, `coleo workspace list`", ""},
	{"M29", "a JSON value for each arm that fits a schema: its memo",
		"`coleo arm memo NAME set JSON`, `PATCH /api/arms/{id}/memo`",
		""},
	{"M30", "ids and clock from outside, gateways, tracing of an in-process model loop", "",
		"An arm's model loop is in the agent CLI. Coleo has no gateway, browser or tracer to give it."},
	{"M31", "follow what an arm changes in its files, without polling", "`coleo arm diff NAME --follow`, " +
		"`GET /api/arms/{id}/diff?wait=30s`", ""},
	{"M32", "a sandbox for the agent CLI, with a network of chosen hosts", "`coleo arm spawn --sandbox bwrap " +
		"--sandbox-net allow=HOST`, `coleo doctor`", ""},

	{"R1", "one type for all events, with a payload for each kind", "[api.md](api.md), `coleo run events RUN --json`", ""},
	{"R2", "a run begins with run_start and ends with run_end", "`coleo run show RUN`", ""},
	{"R3", "calls of tools are paired by their id, and unfinished ones are listed", "`coleo run show RUN`", ""},
	{"R4", "a subagent is a beginning and an end in the run of its parent", "`coleo run events RUN`", ""},
	{"R5", "every event is stored before it is sent", "`coleo run events --follow --json`", ""},
	{"R6", "a replay of a run equals the live run", "`coleo run events RUN`", ""},
	{"R7", "slow readers lose nothing", "`coleo run events --follow`", ""},
	{"R8", "usage and compaction, if the agent CLI reports them",
		"`coleo run events RUN --kind usage,compaction`", ""},
	{"R9", "checked input and output", "`coleo arm prompt NAME --wait --schema FILE TEXT`, `coleo run show RUN --answer`",
		""},
	{"R10", "thinking and texts of the model, if the agent CLI reports them",
		"`coleo run events RUN --kind thinking,assistant_text`", ""},

	{"G1", "a pure reducer from the log to a graph", "`coleo run graph RUN`", ""},
	{"G2", "one id for all pieces of a text", "`coleo run graph RUN`", ""},
	{"G3", "progress between a call and its result", "`coleo run graph RUN --format json`", ""},
	{"G4", "the outcome of a call has a type", "`coleo run graph RUN`", ""},
	{"G5", "a name space of ids for each run", "`coleo run graph RUN`", ""},
	{"G6", "malformed arguments are kept unchanged", "`coleo run graph RUN`", ""},
	{"G7", "a permission waits for an answer", "`coleo run graph RUN`", ""},
	{"G8", "beginning, end, usage and errors of a run", "`coleo run graph RUN --format json`", ""},
	{"G9", "commands of the user in a shell", "`coleo run graph RUN`", ""},
}
