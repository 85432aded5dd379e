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

// version is the newest version of the format of config.toml. The key version can be left out.
const version = 1

// Settings is the content of config.toml. All keys are optional.
type Settings struct {
	Version int `toml:"version"`

	// Arms contains the defaults for new arms.
	Arms struct {
		Harness  string `toml:"harness"`
		Provider string `toml:"provider"`
		Model    string `toml:"model"`
		MaxArms  int    `toml:"max_arms"` // the largest number of arms per host; 0 means 10
		Keep     int64  `toml:"keep_mib"` // how many MiB of each arm's output are always kept; 0 means 256
		// AllowSudo allows agent CLIs to use sudo. On some kernels, it also allows them
		// to type into their own terminals: see docs/security.md.
		AllowSudo bool `toml:"allow_sudo"`
		// OnPartition is what an arm does while serve cannot reach it. The default is run.
		OnPartition coleo.OnPartition `toml:"on_partition"`
		// Tools gives new arms Coleo's own tools if their harness supports MCP.
		Tools bool `toml:"arm_tools"`
	} `toml:"arms"`

	// Serve contains the settings of the process serve.
	Serve struct {
		Addr string `toml:"addr"` // the address of the API; empty means DefaultAddr
	} `toml:"serve"`

	// Agents contains the folders in which Coleo searches for agent CLIs before it searches PATH.
	Agents struct {
		Path []string `toml:"path"`
	} `toml:"agents"`

	// Packs contains the settings for updates of packs: see docs/packs.md.
	Packs struct {
		// Folder is the folder in which 'coleo harness pack update' searches for packs. If Folder is empty,
		// the command finds nothing.
		Folder string `toml:"folder"`
	} `toml:"packs"`

	// Policy contains the setting for the policies of new arms: see docs/security.md.
	Policy struct {
		Mode coleo.PolicyMode `toml:"mode"` // off if empty
	} `toml:"policy"`

	// Sandbox contains the settings for the sandboxes of new arms: see docs/security.md.
	Sandbox struct {
		Limit coleo.SandboxLimit `toml:"limit"` // none if empty
		Image string             `toml:"image"` // the image of the containers; empty means none
	} `toml:"sandbox"`

	// Workspace contains the settings for the worktrees of arms.
	Workspace struct {
		// Path is the folder in which Coleo creates worktrees: see docs/cli.md. If Path is empty, Coleo
		// creates them below the state folder.
		Path string `toml:"path"`
		// Copy and Link list the files and folders that a new worktree receives as copies and as links.
		// They are paths below the repository's work folder.
		Copy []string `toml:"copy"`
		Link []string `toml:"link"`
		// Submodules controls whether a new worktree receives the submodules that are checked out in the
		// work folder. nil means true.
		Submodules *bool `toml:"submodules"`
		// ScriptTimeout is how long .coleo/setup and .coleo/check may run, in seconds. 0 means 600.
		ScriptTimeout int `toml:"script_timeout"`
	} `toml:"workspace"`

	// Models contains the settings for the models of arms: see docs/cli.md.
	Models struct {
		// Fallback is what Coleo does if a model is not available. The default is any.
		Fallback coleo.FallbackStrategy `toml:"fallback"`
		// PricesURL is the URL from which 'coleo models refresh' fetches prices. If PricesURL is empty, the
		// command fetches nothing.
		PricesURL string `toml:"prices_url"`
	} `toml:"models"`

	// Prices contains the user's own prices, by PROVIDER/MODEL or MODEL.
	Prices map[string]Rates `toml:"prices"`

	// Limits contains the settings for an arm that reaches a limit of its model: see docs/cli.md.
	Limits struct {
		OnLimit coleo.OnLimit `toml:"on_limit"` // the list of steps at a limit; empty means wait
		// ContinueWith is the prompt with which the arm continues after a limit. If ContinueWith is
		// empty, the prompt is "continue".
		ContinueWith string `toml:"continue_with"`
		// SameCalls is how often an agent CLI can repeat a tool call with the same result in a run. 0 means
		// loop.MaxSame, and -1 means no limit.
		SameCalls int `toml:"same_calls"`
	} `toml:"limits"`

	// Budget contains the budgets that several arms share, in US dollars: see docs/cli.md. 0 means no
	// budget.
	Budget struct {
		Policy   coleo.BudgetPolicy `toml:"policy"` // park if empty
		Day      float64            `toml:"day"`
		Fleet    float64            `toml:"fleet"`
		Projects map[string]float64 `toml:"projects"` // the budget of each project; the key is its folder's absolute path
		// MaxOutput is the largest size of a model's reply in tokens. 0 means budget.MaxOutput.
		MaxOutput int `toml:"max_output"`
	} `toml:"budget"`
	// Triggers controls whether schedules and webhooks start arms: see docs/triggers.md.
	Triggers struct {
		Enabled bool `toml:"enabled"`
	} `toml:"triggers"`

	// Notify is a shell command that serve runs when an arm asks a question and when a run ends.
	// Environment variables of the command describe the event: see docs/cli.md.
	Notify string `toml:"notify"`
}

// Rates contains the prices of a model in US dollars per million tokens. Input and Output are required. If
// a price for cache tokens is missing, they cost as much as other input.
type Rates struct {
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
}

// These are the limits and the default of arms.keep_mib, in MiB. minKeep is the size of one segment of a
// journal. maxKeep is a terabyte, because a larger value is probably a typing error.
const (
	minKeep     = 4
	defaultKeep = 256
	maxKeep     = 1 << 20
)

// maxScriptTimeout is the largest value of workspace.script_timeout, in seconds. It is limited because the
// start of an arm waits until the scripts have ended.
const maxScriptTimeout = 20 * 60

// DefaultAddr is the default address of the API. If another program uses this address, serve listens on a
// free port instead.
const DefaultAddr = "127.0.0.1:8080"

// ReadSettings reads config.toml at `path`. If the file is missing, all settings have their defaults.
// ReadSettings returns EForbidden if the file is unsafe (see ReadOwn), and EInvalid if its content is wrong.
func ReadSettings(path string) (Settings, error) {
	s := Settings{}
	data, err := ReadOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = CheckMissing(path)
	}
	if err != nil {
		return s, fmt.Errorf("read settings: %w", err)
	}
	if err := Decode(path, data, &s); err != nil {
		return s, err
	}
	if s.Version < 0 {
		return s, Errorf(path, data, "version", "version = %d is not a version", s.Version)
	}
	if s.Version > version {
		return s, Errorf(path, data, "version", "version = %d is newer than this Coleo, which knows version %d", s.Version,
			version)
	}
	for i, dir := range s.Agents.Path {
		if !filepath.IsAbs(dir) {
			return s, Errorf(path, data, fmt.Sprintf("agents.path[%d]", i), "the folder %q is not an absolute path", dir)
		}
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
	if s.Arms.MaxArms < 0 {
		return s, Errorf(path, data, "arms.max_arms", "max_arms = %d is less than 0", s.Arms.MaxArms)
	}
	if s.Arms.MaxArms == 0 {
		s.Arms.MaxArms = 10
	}
	return s, nil
}

// mostSameCalls is the largest value of limits.same_calls, in calls. A larger value would hardly ever stop
// an arm.
const mostSameCalls = 1000

// mostOutput is the largest value of budget.max_output, in tokens. The largest models have a context of
// this size.
const mostOutput = 2_000_000

// budgetFault returns a key of the table budget that has a wrong value, and what is wrong with this value. If
// all values are right, `fault` is "".
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

// fault returns what is wrong with the rates, or "".
func (r Rates) fault() string {
	if r.Input == nil || r.Output == nil {
		return "needs input and output"
	}
	for _, f := range []*float64{r.Input, r.Output, r.CacheRead, r.CacheWrite} {
		if f != nil && !(*f >= 0 && *f <= mostDollars) { // also true for NaN
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

// Budgets returns the budgets that several arms share.
func (s Settings) Budgets() coleo.Budgets {
	b := s.Budget
	return coleo.Budgets{Policy: b.Policy, Day: b.Day, Fleet: b.Fleet, Projects: b.Projects, MaxOutput: b.MaxOutput}
}
