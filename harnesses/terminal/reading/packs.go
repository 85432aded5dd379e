package reading

import (
	"slices"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// packData is the Reader's data about the pack of its Spec. A pack contains newer rules for the same agent
// CLI.
type packData struct {
	memo    rules.Memo // results of the pack's conditions on earlier pictures
	running string     // the version of the agent CLI; "" if unknown
	// raised is the verdict of the pack if it only makes the reading more cautious. A verdict in `raised`
	// never allows Coleo to type. The state of `raised` is "" if there is no such verdict.
	raised rules.Verdict
	own    coleo.State // the verdict of the Spec's own rules on the last picture; "" if they do not know it
}

// SetVersion sets the version of the running agent CLI. While the version is unknown, the rules of the Spec's
// pack can only make readings more cautious.
func (r *Reader) SetVersion(version string) { r.packed.running = version }

// Unjudged returns the version of the running agent CLI if nobody has tested the Spec or its pack with that
// version. If somebody has tested one of them, or if the version is unknown, it returns "".
func (r *Reader) Unjudged() string {
	if r.spec.Judged(r.packed.running) {
		return ""
	}
	return r.packed.running
}

// askPack applies the rules of the Spec's pack to the picture, and combines their verdict with the verdict
// of the Spec's own rules.
func (r *Reader) askPack() {
	r.packed.raised = rules.Verdict{}
	pack := r.spec.Pack()
	if pack == nil {
		return
	}
	picture := pack.Picture(r.picture, r.picture.Screen)
	if picture != r.picture {
		picture.Use(r.cell, r.packed.memo)
	}
	theirs := pack.Read(picture)
	if theirs.Late && r.Starting() {
		theirs = rules.Verdict{}
	}
	r.packed.own = r.verdict.State
	r.verdict, r.packed.raised = Combine(r.spec, r.packed.running, r.verdict, theirs)
	if r.packed.own == "" && r.verdict.State != "" && r.picture.Composer == nil {
		// The pack decides, so it was tested with this version. Its description of the composer then counts too.
		r.picture = picture
	}
}

// raisedVerdict returns the pack's verdict if it makes the reading more cautious, and an empty verdict
// otherwise. If the Spec's own rules recognize the picture, Combine has already compared the two verdicts.
// If they do not, the reading keeps its last state. In this case, the pack's verdict counts if it contains
// a dialog, or if its state is more cautious than that last state.
func (r *Reader) raisedVerdict() rules.Verdict {
	v := r.packed.raised
	if v.Dialog == nil && r.packed.own == "" && coleo.MoreCautious(r.reading.State, v.State) == r.reading.State {
		return rules.Verdict{}
	}
	return v
}

// isLowered reports whether the pack makes the reading less cautious than it was. All of these must hold:
//
//   - The Spec's own rules read idle or an error.
//   - The pack has replaced that verdict by the state `next`.
//   - `next` is less cautious than the reading's last state.
//
// Coleo accepts such a state only after the settling time, as it does with idle and error.
func (r *Reader) isLowered(next coleo.State) bool {
	replaces := r.packed.own == coleo.Idle || r.packed.own == coleo.Failed
	return replaces && r.raisedVerdict().State == next && next != r.reading.State &&
		coleo.MoreCautious(r.reading.State, next) == r.reading.State
}

// unknownNote returns a format string that says why Coleo types nothing on the screen. Its first verb is
// for the name of the harness, and its second verb is for a duration.
func (r *Reader) unknownNote() string {
	if r.packed.own != "" {
		return "the rules of %s and its pack do not read this screen alike since %s"
	}
	return "no rule of %s knows this screen since %s"
}

// Combine combines two verdicts on one picture: `own`, by the Spec's own rules, and `theirs`, by the newer
// rules in the Spec's pack. It returns two verdicts:
//
//   - `counts` is a verdict on which Coleo may type.
//   - `raised` is a more cautious verdict, or empty. If it is not empty, Coleo treats the screen as unknown
//     to all rules.
//
// A dialog that only the pack knows is always in `raised`, and Coleo types into it only a key that a person
// names. Any other verdict of the pack can become `counts`. But this requires that the pack was tested with
// the running version, and that the Spec was not.
func Combine(s *rules.Spec, version string, own, theirs rules.Verdict) (counts, raised rules.Verdict) {
	pack := s.Pack()
	judged := pack.Judged(version)
	decides := judged && !slices.Contains(s.Checked, version)
	more := theirs.State != "" && coleo.MoreCautious(own.State, theirs.State) != own.State
	if own.State == coleo.Initializing { // the agent CLI is not ready yet, so only work or a dialog is more cautious
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
		// The picture is idle only if both the Spec and the pack say so.
		return counts, raised
	}
	return own, raised
}
