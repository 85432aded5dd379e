package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"coleo.dev"
)

// Settings is the content of config.toml. All keys are optional.
type Settings struct {
	Version int `toml:"version"`

	// Arms contains the defaults for new arms.
	Arms struct {
		Harness  string `toml:"harness"`
		Provider string `toml:"provider"`
		Model    string `toml:"model"`
		MaxArms  int    `toml:"max_arms"` // per host; 10 if 0
		Keep     int64  `toml:"keep_mib"` // output in MiB that is always kept for each arm; 256 if 0
		// AllowSudo allows agent CLIs to use sudo. On some kernels, it also allows them
		// to type into their own terminals: see docs/security.md.
		AllowSudo bool `toml:"allow_sudo"`
		// OnPartition says what happens to an arm that serve cannot reach. The default
		// is run.
		OnPartition coleo.OnPartition `toml:"on_partition"`
		// Tools gives new arms Coleo's own tools, if their harness supports MCP.
		Tools bool `toml:"arm_tools"`
	} `toml:"arms"`

	// Serve contains the settings of the process serve.
	Serve struct {
		Addr string `toml:"addr"` // address of the API; DefaultAddr if empty
	} `toml:"serve"`

	// Agents contains the folders in which Coleo looks for agent CLIs before it looks in PATH.
	Agents struct {
		Path []string `toml:"path"`
	} `toml:"agents"`

	// Packs says where to look for newer packs: see docs/packs.md.
	Packs struct {
		// Folder is the folder in which 'coleo harness pack update' looks for packs. If Folder is
		// empty, that command looks nowhere.
		Folder string `toml:"folder"`
	} `toml:"packs"`

	// Policy says what the policy of a new arm does: see docs/security.md.
	Policy struct {
		Mode coleo.PolicyMode `toml:"mode"` // off if empty
	} `toml:"policy"`

	// Sandbox says what the sandbox of a new arm is like: see docs/security.md.
	Sandbox struct {
		Limit coleo.SandboxLimit `toml:"limit"` // none if empty
		Image string             `toml:"image"` // of containers; none if empty
	} `toml:"sandbox"`

	// Workspace says how the worktrees of arms are made.
	Workspace struct {
		// Path is the folder in which worktrees are made: see docs/cli.md. If Path is empty,
		// worktrees are made below the state folder.
		Path string `toml:"path"`
		// Copy and Link list files and folders, as paths below the repository's work folder.
		Copy []string `toml:"copy"`
		Link []string `toml:"link"`
		// Submodules says whether a new worktree gets the submodules that are filled in the work folder. If
		// it is nil, the answer is yes.
		Submodules *bool `toml:"submodules"`
		// ScriptTimeout is how long .coleo/setup and .coleo/check may run, in seconds. 0 means
		// 10 minutes.
		ScriptTimeout int `toml:"script_timeout"`
	} `toml:"workspace"`

	// Models says which models arms use: see docs/cli.md.
	Models struct {
		// Fallback says what happens if a model is not available. The default is any.
		Fallback coleo.FallbackStrategy `toml:"fallback"`
		// PricesURL is the URL from which 'coleo models refresh' fetches prices. If PricesURL is
		// empty, that command fetches nothing.
		PricesURL string `toml:"prices_url"`
	} `toml:"models"`

	// Prices contains the user's own prices, by PROVIDER/MODEL or MODEL.
	Prices map[string]Rates `toml:"prices"`

	// Limits says what a new arm does when it reaches a limit of its model: see docs/cli.md.
	Limits struct {
		OnLimit coleo.OnLimit `toml:"on_limit"` // a list of steps; wait if empty
		// ContinueWith is the prompt with which the arm continues after a limit. If ContinueWith is
		// empty, the prompt is "continue".
		ContinueWith string `toml:"continue_with"`
		// SameCalls is how often an agent CLI can make the same call of a tool with the same
		// result in a run. 0 means loop.MaxSame, and -1 means no limit.
		SameCalls int `toml:"same_calls"`
	} `toml:"limits"`

	// Budget has the budgets that several arms have in common, in US dollars: see docs/cli.md.
	// 0 means none.
	Budget struct {
		Policy   coleo.BudgetPolicy `toml:"policy"` // park if empty
		Day      float64            `toml:"day"`
		Fleet    float64            `toml:"fleet"`
		Projects map[string]float64 `toml:"projects"` // by the absolute path of the folder
		// MaxOutput is the longest reply of a model in tokens; budget.MaxOutput if 0.
		MaxOutput int `toml:"max_output"`
	} `toml:"budget"`
	// Triggers says whether schedules and webhooks start arms: see docs/triggers.md.
	Triggers struct {
		Enabled bool `toml:"enabled"`
	} `toml:"triggers"`

	// Notify is a shell command. Serve runs it when an arm asks something, and when a run has
	// ended, with any outcome. Environment variables of the command describe the event: see
	// docs/cli.md.
	Notify string `toml:"notify"`
}

// Rates contains the prices of a model in US dollars per million tokens. Input and Output are
// required. If a price for caches is missing, cache tokens cost as much as other input.
type Rates struct {
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
}

// These are the limits and the default of arms.keep_mib, in MiB. The minimum is one segment of a
// journal. A value above maxKeep, a terabyte, is probably a typing error.
const (
	minKeep     = 4
	defaultKeep = 256
	maxKeep     = 1 << 20
)

// maxScriptTimeout is the largest value of workspace.script_timeout, in seconds. An order to start
// an arm waits for the scripts up to this long.
const maxScriptTimeout = 20 * 60

// DefaultAddr is the default address of the API. If another program uses this address,
// serve takes a free port.
const DefaultAddr = "127.0.0.1:8080"

// ReadSettings reads config.toml at path. If the file is missing, all settings have
// their defaults. The error is EForbidden if the file is unsafe: see ReadOwn. It is
// EInvalid if the content is wrong.
func ReadSettings(path string) (Settings, error) {
	s := Settings{}
	data, err := ReadOwn(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("read settings: %w", err)
	}
	if err := Decode(path, data, &s); err != nil {
		return s, err
	}
	if s.Arms.Keep != 0 && (s.Arms.Keep < minKeep || s.Arms.Keep > maxKeep) {
		return s, Errorf(path, data, "arms.keep_mib", "keep_mib = %d is not between %d and %d", s.Arms.Keep, minKeep,
			maxKeep)
	}
	if !s.Arms.OnPartition.Valid() {
		return s, Errorf(path, data, "arms.on_partition", "on_partition = %q is neither %q nor %q",
			s.Arms.OnPartition, coleo.PartitionRun, coleo.PartitionFreeze)
	}
	if _, err := s.Sandbox.Limit.Parse(); err != nil {
		return s, Errorf(path, data, "sandbox.limit", "limit = %q: %v", s.Sandbox.Limit, err)
	}
	if err := coleo.ImageName(s.Sandbox.Image); err != nil {
		return s, Errorf(path, data, "sandbox.image", "image = %v", err)
	}
	if !s.Policy.Mode.Valid() {
		return s, Errorf(path, data, "policy.mode", "mode = %q is none of %q, %q and %q", s.Policy.Mode,
			coleo.PolicyOff, coleo.PolicyShadow, coleo.PolicyRead)
	}
	if s.Workspace.ScriptTimeout < 0 || s.Workspace.ScriptTimeout > maxScriptTimeout {
		return s, Errorf(path, data, "workspace.script_timeout", "script_timeout = %d is not between 0 and %d seconds",
			s.Workspace.ScriptTimeout, maxScriptTimeout)
	}
	if !s.Models.Fallback.Valid() {
		return s, Errorf(path, data, "models.fallback", "fallback = %q is none of %q, %q, %q and %q", s.Models.Fallback,
			coleo.FallbackAny, coleo.FallbackSamePrice, coleo.FallbackCheaper, coleo.FallbackNone)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Prices)) {
		if fault := s.Prices[name].fault(); fault != "" {
			return s, Errorf(path, data, "prices."+name, "the price of %q %s", name, fault)
		}
	}
	if err := s.Limits.OnLimit.Check(); err != nil {
		return s, Errorf(path, data, "limits.on_limit", "%v", err)
	}
	if n := s.Limits.SameCalls; n < -1 || n == 1 || n > mostSameCalls {
		return s, Errorf(path, data, "limits.same_calls", "same_calls = %d must be 0, -1, or from 2 to %d", n,
			mostSameCalls)
	}
	if key, fault := s.budgetFault(); fault != "" {
		return s, Errorf(path, data, "budget."+key, "%s", fault)
	}
	if s.Arms.Keep == 0 {
		s.Arms.Keep = defaultKeep
	}
	if s.Arms.MaxArms == 0 {
		s.Arms.MaxArms = 10
	}
	return s, nil
}

// mostSameCalls is the largest limits.same_calls. A larger number stops nothing in practice.
const mostSameCalls = 1000

// mostOutput is the largest budget.max_output, in tokens. The largest models have a context of this size.
const mostOutput = 2_000_000

// budgetFault returns the key below budget whose value is wrong, and what is wrong, or "".
func (s Settings) budgetFault() (key, fault string) {
	b := s.Budget
	if !b.Policy.Valid() {
		return "policy", fmt.Sprintf("policy = %q is none of %q, %q and %q", b.Policy, coleo.BudgetWarn, coleo.BudgetPark,
			coleo.BudgetStop)
	}
	if b.MaxOutput < 0 || b.MaxOutput > mostOutput {
		return "max_output", fmt.Sprintf("max_output = %d is not between 0 and %d tokens", b.MaxOutput, mostOutput)
	}
	for key, dollars := range map[string]float64{"day": b.Day, "fleet": b.Fleet} {
		if (coleo.Budget{Dollars: dollars}).Check() != nil {
			return key, fmt.Sprintf("%s = %g cannot be a budget", key, dollars)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(b.Projects)) {
		switch {
		case !filepath.IsAbs(folder):
			return "projects." + folder, fmt.Sprintf("the project %q is not an absolute path", folder)
		case (coleo.Budget{Dollars: b.Projects[folder]}).Check() != nil:
			return "projects." + folder, fmt.Sprintf("%g cannot be the budget of the project %q", b.Projects[folder], folder)
		}
	}
	return "", ""
}

// mostDollars is the highest plausible price, in US dollars per million tokens.
const mostDollars = 1e6

// fault says what is wrong with the rates. It returns "" if nothing is wrong.
func (r Rates) fault() string {
	if r.Input == nil || r.Output == nil {
		return "needs input and output"
	}
	for _, f := range []*float64{r.Input, r.Output, r.CacheRead, r.CacheWrite} {
		if f != nil && !(*f >= 0 && *f <= mostDollars) { // false for NaN too
			return fmt.Sprintf("cannot be %g", *f)
		}
	}
	return ""
}

// OwnPrices returns the user's own prices, by PROVIDER/MODEL or MODEL.
func (s Settings) OwnPrices() map[string]coleo.Price {
	out := map[string]coleo.Price{}
	for name, r := range s.Prices {
		rates := coleo.Rates{Input: *r.Input, Output: *r.Output, CacheRead: *r.Input, CacheWrite: *r.Input}
		if r.CacheRead != nil {
			rates.CacheRead = *r.CacheRead
		}
		if r.CacheWrite != nil {
			rates.CacheWrite = *r.CacheWrite
		}
		out[name] = coleo.Price{Rates: rates, Source: coleo.PriceOverride}
	}
	return out
}

// Budgets returns the budgets that several arms have in common.
func (s Settings) Budgets() coleo.Budgets {
	b := s.Budget
	return coleo.Budgets{Policy: b.Policy, Day: b.Day, Fleet: b.Fleet, Projects: b.Projects, MaxOutput: b.MaxOutput}
}
