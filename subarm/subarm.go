package subarm

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/armname"
	"coleo.dev/paths"
	"coleo.dev/printable"
)

// These constants limit subarms for two reasons. Each agent CLI takes a few hundred megabytes of memory, and
// a person must be able to follow the work of all subarms.
const (
	// MaxDepth is the largest depth of an arm. An arm that a person starts has the depth 0,
	// and its subarm has the depth 1.
	MaxDepth = 2
	// MaxChildren is how many live subarms one arm can have at a time.
	MaxChildren = 4
	// MaxFleet is how many live subarms all arms together can have at a time.
	MaxFleet = 16

	// MaxPrompt is the largest size of a subarm's first prompt and of a message, in bytes. It is
	// small enough for a person, who must read the text before Coleo sends it.
	MaxPrompt = 32 << 10
	// maxOwnName is the maximum length of the name that the model chooses for a subarm, in bytes. The
	// parent's name and this name together must fit into the name of an arm.
	maxOwnName = 20
)

// Parent is an arm that wants a subarm.
type Parent struct {
	Name    string
	Harness string
	Config  coleo.SpawnConfig
	// Permissions lists the permission modes that the arm has now, in addition to the mode in Config.
	// The most restrictive of all these modes applies, including the mode in Config.
	Permissions []coleo.PermissionMode
}

// SpawnRequest is a model's request for a subarm. Only Name and Prompt are required.
type SpawnRequest struct {
	Name           string               `json:"name"`
	Prompt         string               `json:"prompt"`
	Folder         string               `json:"folder"` // the work folder, absolute or relative to the parent's
	Harness        string               `json:"harness"`
	PermissionMode coleo.PermissionMode `json:"permission_mode"`
}

// Grant checks a request and returns its ArmRequest, without an id. It returns EForbidden if the
// parent may not have such a subarm, and EInvalid for a malformed request or a folder that does not
// exist. Grant does not count subarms: see CheckLimit.
func Grant(p Parent, w SpawnRequest) (coleo.ArmRequest, error) {
	if err := CheckAllowed(p.Config); err != nil {
		return coleo.ArmRequest{}, err
	}
	name, err := nameOf(p, w.Name)
	if err != nil {
		return coleo.ArmRequest{}, err
	}
	if err := CheckPrompt(w.Prompt); err != nil {
		return coleo.ArmRequest{}, err
	}
	if w.Harness != "" && w.Harness != p.Harness {
		return coleo.ArmRequest{}, coleo.Errorf(coleo.EForbidden,
			"a subarm has the harness of its parent, %s: leave out the harness %.40q", p.Harness, w.Harness)
	}
	mode, err := modeOf(p, w.PermissionMode)
	if err != nil {
		return coleo.ArmRequest{}, err
	}
	folder, err := folderOf(p.Config.Workdir, w.Folder)
	if err != nil {
		return coleo.ArmRequest{}, err
	}
	return coleo.ArmRequest{Name: name, Prompt: Mark(p.Name, w.Prompt), Harness: p.Harness, Workdir: folder,
		PermissionMode: mode}, nil
}

// CheckAllowed returns EForbidden if an arm with the configuration c may never have a subarm. It returns EUnsupported
// if only a newer Coleo can start an arm with this configuration.
func CheckAllowed(c coleo.SpawnConfig) error {
	switch {
	case c.Depth >= MaxDepth:
		return coleo.Errorf(coleo.EForbidden, "this arm has the depth %d and can have no subarms: %d is the most", c.Depth,
			MaxDepth)
	case len(c.Wrap) > 0 || len(c.Args) > 0:
		return coleo.Errorf(coleo.EForbidden, "this arm can have no subarms: it was started with arguments or with a "+
			"wrapper of its own, and a subarm would start without them")
	case len(c.Tools) == 0:
		return coleo.Errorf(coleo.EForbidden, "this arm can have no subarms: it has no tools of Coleo")
	}
	return c.CheckKnown()
}

// CheckLimit returns EConflict if one more subarm would be too many. ofParent counts the parent's
// subarms that run or are requested. ofAllArms counts the running subarms of all arms.
func CheckLimit(ofParent, ofAllArms int) error {
	switch {
	case ofParent >= MaxChildren:
		return coleo.Errorf(coleo.EConflict, "this arm has %d subarms already, which is the most: wait until one has ended",
			ofParent)
	case ofAllArms >= MaxFleet:
		return coleo.Errorf(coleo.EConflict, "%d subarms run already, which is the most of all arms together", ofAllArms)
	}
	return nil
}

// nameOf returns the name of a subarm: the parent's name, a dot and the part that the model chose.
// The dot shows a person that another arm has asked for this arm.
func nameOf(p Parent, own string) (string, error) {
	name := p.Name + "." + own
	if own == "" || len(own) > maxOwnName || strings.Contains(own, ".") || armname.Check(own) != nil {
		return "", coleo.Errorf(coleo.EInvalid,
			"the name must have 1 to %d letters, digits, '_' or '-', and begin with a letter or digit", maxOwnName)
	}
	if armname.Check(name) != nil {
		return "", coleo.Errorf(coleo.EInvalid, "the name %q is too long: choose a shorter one", name)
	}
	return name, nil
}

// CheckPrompt returns EInvalid if the text is blank or has more than MaxPrompt bytes.
func CheckPrompt(text string) error {
	if strings.TrimSpace(text) == "" || len(text) > MaxPrompt {
		return coleo.Errorf(coleo.EInvalid, "the text must have 1 to %d bytes", MaxPrompt)
	}
	return nil
}

// modes lists the permission modes, from the least permissive to the most permissive.
var modes = []coleo.PermissionMode{coleo.PermissionPlan, coleo.PermissionAsk, coleo.PermissionEdit, coleo.PermissionAll}

// modeOf returns the subarm's permission mode: the wanted mode, or the parent's mode if `wanted` is "". It
// returns EForbidden if the wanted mode allows more than the parent's mode.
func modeOf(p Parent, wanted coleo.PermissionMode) (coleo.PermissionMode, error) {
	most := slices.Index(modes, rank(p.Config.PermissionMode))
	for _, m := range p.Permissions {
		most = min(most, slices.Index(modes, rank(m)))
	}
	switch at := slices.Index(modes, wanted); {
	case most < 0:
		return "", coleo.Errorf(coleo.EForbidden, "this arm can have no subarms: its permission mode is not known")
	case wanted == "":
		return modes[most], nil
	case at < 0:
		return "", coleo.Errorf(coleo.EInvalid, "the permission mode is one of %s, not %.40q",
			printable.List(modes), wanted)
	case at > most:
		return "", coleo.Errorf(coleo.EForbidden, "the permission mode %s allows more than this arm's, %s", wanted,
			modes[most])
	}
	return wanted, nil
}

func rank(m coleo.PermissionMode) coleo.PermissionMode {
	if m == "" {
		return coleo.PermissionAsk
	}
	return m
}

// folderOf returns the subarm's folder, without symbolic links. It is the parent's own folder, or a
// folder within the parent's folder.
func folderOf(parent, wanted string) (string, error) {
	if wanted == "" {
		return parent, nil
	}
	if !filepath.IsAbs(wanted) {
		wanted = filepath.Join(parent, wanted)
	}
	folder, err := filepath.EvalSymlinks(wanted)
	if err != nil {
		return "", coleo.Errorf(coleo.EInvalid, "the folder %s cannot be used: %v", wanted, err)
	}
	return folder, Within(parent, folder)
}

// Within returns nil if `folder` is the same as `parent`, or below it. It resolves the symbolic links of both
// paths before it compares them. Within returns EForbidden if `folder` is outside `parent`. It returns
// EInvalid if `parent` does not exist, or if `folder` is not a folder.
func Within(parent, folder string) error {
	outer, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return coleo.Errorf(coleo.EInvalid, "the folder of the parent cannot be used: %v", err)
	}
	inner, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return coleo.Errorf(coleo.EInvalid, "the folder %s cannot be used: %v", folder, err)
	}
	if info, err := os.Stat(inner); err != nil || !info.IsDir() {
		return coleo.Errorf(coleo.EInvalid, "%s is not a folder", folder)
	}
	if !paths.Within(outer, inner) {
		return coleo.Errorf(coleo.EForbidden, "the folder %s is not within the folder of the parent, %s", folder, parent)
	}
	return nil
}

// Config returns the configuration with which a subarm starts. The subarm has its parent's model,
// profile and terminal size. It does not have the parent's conversation, environment, arguments,
// wrapper or MCP servers. At the largest depth the subarm cannot have subarms itself.
//
// The subarm has the same sandbox as its parent, with the same files. So the parent gains nothing
// if it changes or replaces the subarm's folder.
func Config(parent string, c coleo.SpawnConfig, r coleo.ArmRequest) coleo.SpawnConfig {
	out := coleo.SpawnConfig{Workdir: r.Workdir, PermissionMode: r.PermissionMode, Parent: parent, Depth: c.Depth + 1,
		Profile: c.Profile, Home: c.Home, Endpoint: c.Endpoint, TrustWorkdir: c.TrustWorkdir, OnPartition: c.OnPartition,
		Policy: c.Policy, OnLimit: c.AtLimit(), ContinueWith: c.ContinueWith, Window: c.Window, Cols: c.Cols, Rows: c.Rows,
		Tools: slices.Clone(c.Tools)}
	if c.Sandbox.On() {
		same := *c.Sandbox
		same.Folder = cmp.Or(same.Folder, c.Workdir)
		out.Sandbox = &same
	}
	out.Provider, out.Model = c.ModelOf()
	if out.Depth >= MaxDepth {
		out.Tools = slices.DeleteFunc(out.Tools, func(t string) bool { return t == coleo.ToolSpawnArm })
	}
	return out
}

// Mark returns the prompt for a message from one arm to another. It begins with the name of the
// sender, so that nobody mistakes the message for a person's prompt.
func Mark(from, text string) string { return fmt.Sprintf("Message from the arm %s: %s", from, text) }

// Question returns the question that Coleo asks a person before it carries out the request of an
// arm.
func Question(kind coleo.SuspensionKind, r coleo.ArmRequest) string {
	if kind == coleo.SuspensionMessage {
		return fmt.Sprintf("Send a message to the arm %s?\n%s", r.Name, r.Prompt)
	}
	return fmt.Sprintf("Start the subarm %s (%s, permission mode %s) in %s?\nIts first prompt is:\n%s", r.Name, r.Harness,
		r.PermissionMode, r.Workdir, r.Prompt)
}
