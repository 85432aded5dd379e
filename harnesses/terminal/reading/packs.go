package reading

import (
	"slices"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// packData is the Reader's data about the pack of its Spec.
type packData struct {
	memo    rules.Memo // results of the pack's conditions on earlier pictures
	running string     // the version of the agent CLI; "" if unknown
	// raised is the verdict of the pack if that verdict only makes the reading more cautious. Coleo
	// types nothing because of it. Its state is "" if there is no such verdict.
	raised rules.Verdict
	own    coleo.State // the verdict of the Spec's own rules on the last picture; "" if they do not know it
}

// SetVersion sets the version of the running agent CLI. If the version is unknown, the pack of the
// Spec can only make readings more cautious.
func (r *Reader) SetVersion(version string) { r.packed.running = version }

// Unjudged returns the version of the running agent CLI if neither the description nor its pack was
// judged on that version. Otherwise, and for an unknown version, it returns "".
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

// raisedVerdict returns the verdict of the pack if it is more cautious than the verdict of the Spec, and
// an empty verdict otherwise. If the Spec's own rules do not know the picture, the reading keeps its last
// state. The pack's verdict must then have a dialog, or be more cautious than that state.
func (r *Reader) raisedVerdict() rules.Verdict {
	v := r.packed.raised
	if v.Dialog == nil && r.packed.own == "" && coleo.MoreCautious(r.reading.State, v.State) == r.reading.State {
		return rules.Verdict{}
	}
	return v
}

// isLowered reports whether the pack makes the reading less cautious. That is so if all of these hold:
//
//   - The Spec's own rules read idle or an error.
//   - The pack has replaced that verdict by the state in the parameter `next`.
//   - That state is less cautious than the reading's last state.
//
// Coleo then waits before it accepts that state, for as long as it waits before idle or an error.
func (r *Reader) isLowered(next coleo.State) bool {
	replaces := r.packed.own == coleo.Idle || r.packed.own == coleo.Failed
	return replaces && r.raisedVerdict().State == next && next != r.reading.State &&
		coleo.MoreCautious(r.reading.State, next) == r.reading.State
}

// unknownNote returns the reason why Coleo types nothing on the screen, as a format string. Its
// first verb is for the name of the harness, and its second verb is for a duration.
func (r *Reader) unknownNote() string {
	if r.packed.own != "" {
		return "the rules of %s and its pack do not read this screen alike since %s"
	}
	return "no rule of %s knows this screen since %s"
}

// Combine combines two verdicts on one picture. own is the verdict of the Spec's own rules, and theirs is
// the verdict of the Spec's pack. Combine returns two verdicts:
//
//   - `counts` is a verdict that allows Coleo to type.
//   - `raised` is more cautious, or empty. If it is not empty, the screen counts as unknown to all rules.
//
// A dialog that only the pack knows is always in `raised`. Into such a dialog, Coleo types only a key that
// a person names. Any other verdict of the pack can become `counts`, but only if the pack was judged on
// the running version and the Spec was not.
func Combine(s *rules.Spec, version string, own, theirs rules.Verdict) (counts, raised rules.Verdict) {
	pack := s.Pack()
	judged := pack.Judged(version)
	decides := judged && !slices.Contains(s.Checked, version)
	more := theirs.State != "" && coleo.MoreCautious(own.State, theirs.State) != own.State
	if own.State == coleo.Initializing { // the agent CLI is not ready yet
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
		return counts, raised // idle only if both the Spec and the pack read it
	}
	return own, raised
}
