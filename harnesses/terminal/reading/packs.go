package reading

import (
	"slices"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// packed is what a Reader knows about the pack of its Spec.
type packed struct {
	memo    rules.Memo // results of the pack's conditions on earlier pictures
	running string     // the version of the agent CLI; "" if it is not known
	// raised is the verdict of the pack, if that verdict only makes the reading more cautious.
	// Coleo types nothing because of this verdict. Its state is "" if there is no such verdict.
	raised rules.Verdict
	own    coleo.State // what the Spec's own rules read on the last picture; "" if they do not know the picture
}

// SetVersion passes the version of the running agent CLI to the Reader. If the version is not
// known, the pack of the Spec can only make readings more cautious.
func (r *Reader) SetVersion(version string) { r.packed.running = version }

// Unjudged returns the version of the running agent CLI, if neither the description nor its pack
// was judged on that version. In any other case, such as an unknown version, it returns "".
func (r *Reader) Unjudged() string {
	if r.spec.Judged(r.packed.running) {
		return ""
	}
	return r.packed.running
}

// askPack combines the verdict of the Spec's own rules with the verdict of its pack.
func (r *Reader) askPack() {
	r.packed.raised = rules.Verdict{}
	pack := r.spec.Pack()
	if pack == nil {
		return
	}
	picture := pack.Picture(r.picture, r.picture.Screen)
	if picture != r.picture {
		picture.Use(r.screen.Cell, r.packed.memo)
	}
	theirs := pack.Read(picture)
	if theirs.Late && r.Starting() {
		theirs = rules.Verdict{}
	}
	r.packed.own = r.verdict.State
	r.verdict, r.packed.raised = Combine(r.spec, r.packed.running, r.verdict, theirs)
	if r.packed.own == "" && r.verdict.State != "" && r.picture.Composer == nil {
		r.picture = picture // the pack was judged on this version, so its composer counts
	}
}

// raised returns the verdict of the pack if that verdict is more cautious than the verdict of the
// Spec. Otherwise it returns an empty verdict. If the Spec's own rules do not know the picture, the
// reading keeps its last state. In this case the verdict of the pack counts only if it has a dialog
// or is more cautious than that last state.
func (r *Reader) raised() rules.Verdict {
	v := r.packed.raised
	if v.Dialog == nil && r.packed.own == "" && coleo.MoreCautious(r.reading.State, v.State) == r.reading.State {
		return rules.Verdict{}
	}
	return v
}

// lowers reports whether the pack has raised idle or an error to the given state, which is still
// less cautious than the last one. Such a state stands in for idle or an error, so it must last as
// long as they must.
func (r *Reader) lowers(next coleo.State) bool {
	replaces := r.packed.own == coleo.Idle || r.packed.own == coleo.Failed
	return replaces && r.raised().State == next && next != r.reading.State &&
		coleo.MoreCautious(r.reading.State, next) == r.reading.State
}

// unknownNote returns the reason why nothing is typed on the screen. The reason is a format string
// with two verbs. The first is for the name of the harness, the second for a duration.
func (r *Reader) unknownNote() string {
	if r.packed.own != "" {
		return "the rules of %s and its pack do not read this screen alike since %s"
	}
	return "no rule of %s knows this screen since %s"
}

// Combine combines two verdicts on one picture. The first verdict comes from the Spec's own rules,
// and the second from the Spec's pack. Combine also returns two verdicts:
//
//   - Coleo is allowed to type on the first result.
//   - The second result has a more cautious state, or is empty. If it is not empty, the screen
//     counts as unknown to all rules.
//
// If only the pack knows a dialog, Combine always returns the dialog in the second result. So Coleo
// types into that dialog only a key that a person names. Any other verdict of the pack becomes the
// first result only under two conditions. The pack was judged on the running version, and the Spec
// was not checked with that version.
func Combine(s *rules.Spec, version string, own, theirs rules.Verdict) (counts, raised rules.Verdict) {
	pack := s.Pack()
	judged := pack.Judged(version)
	decides := judged && !slices.Contains(s.Checked, version)
	more := theirs.State != "" && coleo.MoreCautious(own.State, theirs.State) != own.State
	if own.State == coleo.Initializing { // a rule has seen that the agent CLI is not ready
		more = theirs.State.Working() || theirs.State == coleo.WaitingApproval
	}
	switch {
	case own.Dialog != nil:
		return own, raised
	case theirs.Dialog != nil && more:
		return counts, theirs
	case own.State == "" && decides:
		return theirs, raised
	case own.State == "" && theirs.State.Working():
		return counts, theirs
	case own.State == "":
		return own, raised
	case more && decides:
		return theirs, raised
	case more:
		return counts, theirs
	case own.State == coleo.Idle && theirs.State == "" && judged && pack.KnowsIdle():
		return counts, raised // idle only if the Spec and the pack both say so
	}
	return own, raised
}
