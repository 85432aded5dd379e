// Package fakegh contains fakes of the programs gh and glab. They store pull requests in a folder and
// record each call there. They can kill their caller at one of the calls. They use no network. Only
// tests import this package.
package fakegh

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// FolderVariable is the environment variable that contains the fakes' folder.
const FolderVariable = "FAKEGH_FOLDER"

// Folder is the folder of the fakes.
type Folder string

// UnknownBase is a branch that does not exist on the fake server. Like GitHub, the fakes refuse a pull
// request into it.
const UnknownBase = "unknown-base"

// Call is a recorded call.
type Call struct {
	Program string // gh or glab
	Args    []string
	Body    json.RawMessage `json:",omitempty"` // the body of a POST
}

// Install writes the given programs, such as gh, into a folder, and returns the folder. The caller must put the
// folder first into PATH. Each of these programs runs the present test program again, which must call Main in its
// TestMain.
func (f Folder) Install(programs ...string) (bin string, err error) {
	bin = filepath.Join(string(f), "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return "", err
	}
	self, err := os.Executable()
	for _, name := range programs {
		if err == nil {
			text := fmt.Sprintf("#!/bin/sh\n# a stand-in: see package fakegh\nexport %s='%s' FAKEGH_AS=%s FAKEGH_PARENT=$PPID\n"+
				"exec '%s' \"$@\"\n", FolderVariable, f, name, self)
			err = os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700)
		}
	}
	return bin, err
}

// Main answers one call and ends the process, if the process was started as one of the installed
// programs. Otherwise it does nothing.
func Main() {
	if os.Getenv("FAKEGH_AS") != "" {
		os.Exit(Folder(os.Getenv(FolderVariable)).main(os.Getenv("FAKEGH_AS"), os.Args[1:]))
	}
}

// Answer sets the response to a GET of a path. A string is the response itself. Any other value is
// encoded as JSON.
func (f Folder) Answer(path string, answer any) error {
	data, is := answer.(string)
	if !is {
		encoded, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		data = string(encoded)
	}
	return f.write("answer "+url.PathEscape(path), []byte(data))
}

// KillAt makes the call with the given number kill its caller. Calls are counted from 1, and the number 0 means no
// kill. If `answered` is true, the call does its work before the kill. KillAt deletes the record of earlier calls.
func (f Folder) KillAt(number int, answered bool) error {
	_ = os.Remove(filepath.Join(string(f), "calls"))
	return f.write("plan", fmt.Appendf(nil, "%d %t\n", number, answered))
}

// Calls returns the calls so far.
func (f Folder) Calls() (calls []Call) {
	data, _ := os.ReadFile(filepath.Join(string(f), "calls"))
	for line := range strings.Lines(string(data)) {
		var c Call
		_ = json.Unmarshal([]byte(line), &c)
		calls = append(calls, c)
	}
	return calls
}

// Pull is a pull request on the fake server.
type Pull struct {
	Number int    `json:"number"`
	IID    int    `json:"iid"`
	URL    string `json:"html_url"`
	WebURL string `json:"web_url"`
	State  string `json:"state"`
	Merged bool   `json:"merged"`
	Branch string `json:"branch"`
	Base   string `json:"base_name"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	Draft  bool   `json:"draft"`
	Head   struct {
		SHA string `json:"sha"`
	} `json:"head"`
}

// Pulls returns the pull requests.
func (f Folder) Pulls() (list []Pull) {
	data, _ := os.ReadFile(filepath.Join(string(f), "pulls"))
	_ = json.Unmarshal(data, &list)
	return list
}

// SetPulls replaces the pull requests.
func (f Folder) SetPulls(list []Pull) error {
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return f.write("pulls", data)
}

func (f Folder) write(name string, data []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	path := filepath.Join(string(f), name)
	if err := os.WriteFile(path+".part", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

func (f Folder) main(program string, args []string) int {
	c := Call{Program: program, Args: args}
	if len(args) > 4 && args[3] == "--method" {
		c.Body, _ = io.ReadAll(os.Stdin)
	}
	line, _ := json.Marshal(c)
	file, err := os.OpenFile(filepath.Join(string(f), "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 9
	}
	_, _ = file.Write(append(line, '\n'))
	fatal, answered := 0, false
	plan, _ := os.ReadFile(filepath.Join(string(f), "plan"))
	_, _ = fmt.Sscanf(string(plan), "%d %t", &fatal, &answered)
	kill := len(f.Calls()) == fatal
	if kill && !answered {
		return killParent()
	}
	text, code := f.answer(c)
	if kill {
		return killParent()
	}
	fmt.Print(text)
	return code
}

// killParent kills the caller, and waits until the caller is gone.
func killParent() int {
	var pid int
	_, _ = fmt.Sscanf(os.Getenv("FAKEGH_PARENT"), "%d", &pid)
	if pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return 9
}

func (f Folder) answer(c Call) (text string, code int) {
	if c.Args[0] == "auth" {
		return "", 0
	}
	path := c.Args[len(c.Args)-1]
	data, err := os.ReadFile(filepath.Join(string(f), "answer "+url.PathEscape(path)))
	if err == nil {
		return string(data), 0
	}
	base, query, _ := strings.Cut(path, "?")
	list := f.Pulls()
	values, _ := url.ParseQuery(query)
	switch last := base[strings.LastIndexByte(base, '/')+1:]; {
	case c.Body != nil && (last == "pulls" || last == "merge_requests"):
		return f.create(c, list)
	case last == "pulls" || last == "merge_requests":
		_, branch, _ := strings.Cut(values.Get("head"), ":")
		branch += values.Get("source_branch")
		var found []Pull
		for _, p := range list {
			if p.Branch == branch && p.State == "open" {
				found = append(found, p)
			}
		}
		return encode(found), 0
	}
	for _, p := range list {
		if strings.HasSuffix(base, fmt.Sprintf("/pulls/%d", p.Number)) {
			return encode(p), 0
		}
	}
	if strings.HasSuffix(base, "/check-runs") {
		return `{"total_count":0,"check_runs":[]}`, 0
	}
	if strings.HasSuffix(base, "/status") {
		return `{"state":"pending","statuses":[]}`, 0
	}
	if strings.HasSuffix(base, "/comments") || strings.HasSuffix(base, "/reviews") {
		return `[]`, 0
	}
	fmt.Fprintln(os.Stderr, c.Program+": Not Found (HTTP 404)")
	return `{"message":"Not Found"}`, 1
}

// create makes a pull request. Like GitHub, it refuses a second open pull request for the same branch.
func (f Folder) create(c Call, list []Pull) (text string, code int) {
	var in map[string]any
	_ = json.Unmarshal(c.Body, &in)
	word := func(names ...string) string {
		for _, name := range names {
			if s, is := in[name].(string); is {
				return s
			}
		}
		return ""
	}
	p := Pull{Number: len(list) + 1, IID: len(list) + 1, State: "open", Branch: word("head", "source_branch"),
		Base: word("base", "target_branch"), Title: word("title"), Body: word("body", "description")}
	p.Draft, _ = in["draft"].(bool)
	for _, old := range list {
		if old.Branch == p.Branch && old.State == "open" {
			fmt.Fprintln(os.Stderr, c.Program+": Validation Failed (HTTP 422)")
			return `{"message":"Validation Failed","errors":[{"message":"A pull request already exists"}]}`, 1
		}
	}
	if p.Base == UnknownBase {
		fmt.Fprintln(os.Stderr, c.Program+": Validation Failed (HTTP 422)")
		return `{"message":"Validation Failed","errors":[{"field":"base","code":"invalid"}]}`, 1
	}
	p.URL = fmt.Sprintf("https://%s/pull/%d", c.Args[2], p.Number)
	p.WebURL = p.URL
	if err := f.SetPulls(append(list, p)); err != nil {
		return "", 9
	}
	return encode(p), 0
}

func encode(v any) string {
	data, _ := json.Marshal(v)
	if string(data) == "null" {
		return "[]"
	}
	return string(data)
}
