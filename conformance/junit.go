package conformance

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// junitSuite is a report in the JUnit form that CI systems display. The report is one
// suite with one case for each check.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Seconds float64    `xml:"time,attr"`
	Failure *junitText `xml:"failure,omitempty"`
	Skipped *junitText `xml:"skipped,omitempty"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func junitOf(r Report) junitSuite {
	suite := junitSuite{Name: "coleo harness test " + r.Harness, Tests: len(r.Results)}
	for _, x := range r.Results {
		c := junitCase{Class: r.Harness, Name: x.Name, Seconds: x.Seconds}
		switch {
		case x.Skipped:
			suite.Skipped++
			c.Skipped = &junitText{Message: x.Details}
		case !x.Pass:
			suite.Failures++
			first, _, _ := strings.Cut(x.Details, "\n")
			c.Failure = &junitText{Message: first, Text: x.Details}
		default:
			c.Out = x.Details
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}

// WriteJUnit writes a report as JUnit XML to the file at path. It replaces an existing
// file. If the file cannot be written, WriteJUnit returns an error.
func WriteJUnit(path string, r Report) error {
	raw, err := xml.MarshalIndent(junitOf(r), "", "  ")
	if err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	if err := os.WriteFile(path, append([]byte(xml.Header), append(raw, '\n')...), 0o644); err != nil {
		return fmt.Errorf("write report %s: %w", path, err)
	}
	return nil
}
