package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// These are the files of a fake in its work folder: see InFolder.
const (
	RecordFile = ".fake.jsonl"
	ScriptFile = "script.json"
	OrdersFile = ".fake.orders"
)

// InFolder returns the configuration of a fake that has its record, its script and its orders in its work folder.
// It has a script only if there is such a file.
func InFolder(workdir string) (Config, error) {
	c := Config{Record: filepath.Join(workdir, RecordFile), Orders: filepath.Join(workdir, OrdersFile)}
	s, err := LoadScript(filepath.Join(workdir, ScriptFile))
	if err == nil {
		c.Script = s
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c, err
}

// usageError is the exit code of a fake whose command line is wrong.
const usageError = 2

// Main runs a fake until it ends, and returns its exit code. The arguments are those of ParseFlags, or only the work
// folder of a fake without a model.
func Main(args []string) int {
	configure := func() (Config, error) { return ParseFlags(args) }
	if len(args) == 1 && !strings.HasPrefix(args[0], "-") {
		configure = func() (Config, error) { return InFolder(args[0]) }
	}
	c, err := configure()
	if err != nil {
		fmt.Println("fakeagent:", err)
		return usageError
	}
	code, err := Run(context.Background(), os.Stdin, os.Stdout, c)
	if err != nil {
		fmt.Println("fakeagent:", err)
	}
	return code
}
