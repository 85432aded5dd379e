package brain

import (
	"reflect"
	"testing"

	"coleo.dev"
	"coleo.dev/subarm"
	"coleo.dev/successor"
)

// ownOfStart contains the fields of a configuration that a subarm and a successor do not inherit, each with the
// reason.
var ownOfStart = map[string]string{
	"Arm": "the id of the arm itself", "Generation": "counts the starts of the arm itself",
	"Nonce": "identifies one start", "Dir": "belongs to one start",
	"Binary": "the host agent looks for the program", "Path": "the host agent sets it",
	"Args":    "only this agent CLI understands them",
	"Environ": "the host agent sets it", "Env": "these secrets are never stored",
	"Conversation": "one arm has it", "Resume": "the new arm begins a conversation",
	"Fork": "the new arm begins a conversation", "ForkedFrom": "the new arm begins a conversation",
	"Reached": "the host agent sets it", "OwnNetwork": "the host agent sets it", "Keep": "the host agent sets it",
	"AllowSudo": "the host agent sets it",
	"Worktree":  "the new arm works in the folder of the first arm",
	"Newer":     "an arm with such fields has no subarm and no successor",
	"Chosen":    "see TestEachFieldOfChosenIsInheritedOrListed",
}

// A subarm does not inherit the fields in notOfSubarm, and a successor does not inherit the fields in
// notOfSuccessor. ownOfStart contains the fields that both of them do not inherit.
var (
	notOfSubarm = map[string]string{
		"EnvNames": "a subarm gets none of these variables", "Wrap": "an arm with a wrapper has no subarms",
		"Succeeds":    "the task was handed over to the parent",
		"MCPServers":  "a person gave them to the parent only",
		"EndWhenDone": "the parent can still send the subarm a prompt",
	}
	notOfSuccessor = map[string]string{
		"Provider": "the successor's agent CLI has other models", "Model": "the successor's agent CLI has other models",
		"Parent": "no model has asked for the successor", "Depth": "no model has asked for the successor",
		"Window": "the successor's harness has no window",
	}
)

// subarm.Config and successor.Config copy a configuration field by field. If a new field of
// SpawnConfig is neither copied nor listed, this test fails.
func TestEachFieldOfAConfigurationIsTakenOverOrListed(t *testing.T) {
	t.Parallel()
	asSubarm := func(c coleo.SpawnConfig) coleo.SpawnConfig {
		return subarm.Config(c.Parent, c, coleo.ArmRequest{Workdir: c.Workdir, PermissionMode: c.PermissionMode})
	}
	asSuccessor := func(c coleo.SpawnConfig) coleo.SpawnConfig {
		var by coleo.Predecessor
		if c.Succeeds != nil {
			by = *c.Succeeds
		}
		return successor.Config(by, c, true)
	}
	for _, of := range []struct {
		name, file string
		config     func(coleo.SpawnConfig) coleo.SpawnConfig
		left       map[string]string
	}{
		{"subarm", "subarm/subarm.go", asSubarm, notOfSubarm},
		{"successor", "successor/successor.go", asSuccessor, notOfSuccessor},
	} {
		for field := range reflect.TypeFor[coleo.SpawnConfig]().Fields() {
			var c coleo.SpawnConfig
			fill(t, reflect.ValueOf(&c).Elem().FieldByIndex(field.Index))
			taken := !reflect.DeepEqual(reflect.ValueOf(of.config(c)).FieldByIndex(field.Index).Interface(),
				reflect.ValueOf(of.config(coleo.SpawnConfig{})).FieldByIndex(field.Index).Interface())
			listed := ownOfStart[field.Name] != "" || of.left[field.Name] != ""
			switch {
			case taken && listed:
				t.Errorf("a %s takes over %s, but this test lists the field as left out", of.name, field.Name)
			case !taken && !listed:
				t.Errorf("a %s loses %s: copy it in %s, or list it here with a reason", of.name, field.Name, of.file)
			}
		}
	}
	for _, list := range []map[string]string{ownOfStart, notOfSubarm, notOfSuccessor} {
		for name := range list {
			if _, there := reflect.TypeFor[coleo.SpawnConfig]().FieldByName(name); !there {
				t.Errorf("this test lists %s, which is no field of SpawnConfig", name)
			}
		}
	}
}

// fill sets a value, and all values inside it, to something other than zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}
