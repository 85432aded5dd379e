// Package junit writes the results of checks in the JUnit form, which CI systems display.
package junit

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// Suite is a report of checks.
type Suite struct {
	Name  string
	Class string // what was checked
	Cases []Case
}

// Case is the outcome of one check.
type Case struct {
	Name    string
	Pass    bool
	Skipped bool
	Details string
	Seconds float64
}

// suite is a Suite in the JUnit form: one suite with one case for each check.
type suite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []suiteCase `xml:"testcase"`
}

type suiteCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Seconds float64    `xml:"time,attr"`
	Failure *suiteText `xml:"failure,omitempty"`
	Skipped *suiteText `xml:"skipped,omitempty"`
	Out     string     `xml:"system-out,omitempty"`
}

type suiteText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func formOf(s Suite) suite {
	out := suite{Name: s.Name, Tests: len(s.Cases)}
	for _, x := range s.Cases {
		c := suiteCase{Class: s.Class, Name: x.Name, Seconds: x.Seconds}
		switch {
		case x.Skipped:
			out.Skipped++
			c.Skipped = &suiteText{Message: x.Details}
		case !x.Pass:
			out.Failures++
			first, _, _ := strings.Cut(x.Details, "\n")
			c.Failure = &suiteText{Message: first, Text: x.Details}
		default:
			c.Out = x.Details
		}
		out.Cases = append(out.Cases, c)
	}
	return out
}

// Write writes a report as JUnit XML to the file at `path`. It replaces an existing file. If the file cannot be
// written, Write returns an error.
func Write(path string, s Suite) error {
	raw, err := xml.MarshalIndent(formOf(s), "", "  ")
	if err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	if err := os.WriteFile(path, append([]byte(xml.Header), append(raw, '\n')...), 0o644); err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	return nil
}
