package revive

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"coleo.dev"
	"coleo.dev/cmd/coleo/verb"
)

// mostNames is how many arms a line names. If there are more arms, the line gives only the number
// of the others.
const mostNames = 5

// Failed reports whether the recovery of any arm has failed. An arm that waits for a login has not
// failed.
func (r Report) Failed() bool {
	for _, o := range r.Arms {
		if o.Step == Failed {
			return true
		}
	}
	return false
}

// Print writes the report for people.
func (r Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	switch {
	case len(r.Arms) > 0:
		fmt.Fprintln(w, "ARM\tRESULT")
	case len(r.Logins) == 0:
		fmt.Fprintln(w, "No arm needs to be recovered.")
	}
	for _, o := range r.Arms {
		fmt.Fprintf(w, "%s\t%s\n", o.Arm, o.line())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range r.Logins {
		fmt.Fprintln(out, l.line())
	}
	if r.Stopped > 0 {
		fmt.Fprintf(out, "Already stopped before, and left so: %s.\n", verb.Counted(r.Stopped, "arm"))
	}
	if len(r.Away) > 0 {
		_, err := fmt.Fprintf(out, "The state of %s is not known, because the host agent is away or serve "+
			"has not read its log: %s.\n", verb.Counted(len(r.Away), "arm"), joinNames(r.Away))
		return err
	}
	return nil
}

func (o Outcome) line() string {
	line := ""
	switch o.Step {
	case Resumed:
		line = "started again, its conversation continues"
	case Anew:
		line = "started again with a new conversation"
	case Reattached:
		line = "ran already"
	case Waits:
		return "not started: it waits for the login below"
	case Failed:
		return "not recovered: " + verb.Shown(strings.Join(strings.Fields(o.Error.Message), " "))
	}
	switch p := o.Parked; {
	case p != nil && !p.Wake.IsZero() && p.Wake.Before(time.Now()):
		return line + "; the limit has passed, so it continues"
	case p != nil:
		return line + "; still parked " + p.Line()
	case o.State == coleo.WaitingApproval:
		return line + "; it asks something"
	}
	return line
}

func (l Login) line() string {
	account := l.Harness
	if l.Home != "" {
		account += " in " + l.Home
	}
	return fmt.Sprintf("Login needed: %s, for %s (%s). Log in with 'coleo arm attach %s'; "+
		"then 'coleo up --revive' recovers the others.", account,
		verb.Counted(len(l.Arms), "arm"), joinNames(l.Arms), l.Arms[0])
}

// joinNames returns the first mostNames names, and how many others there are.
func joinNames(list []string) string {
	if len(list) > mostNames {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNames], ", "), len(list)-mostNames)
	}
	return strings.Join(list, ", ")
}
