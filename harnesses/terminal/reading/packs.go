package reading

import (
	"slices"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// packed is what a Reader knows about the pack of its Spec.
type packed struct {
	memo    rules.Memo // outcomes of the pack's conditions on earlier pictures
	running string     // the version of the agent CLI; "" if it is not known
	// raised is what the pack read, where that only makes the reading more cautious.
	// Nothing is typed on its word. The state is "" if there is no such verdict.
	raised rules.Verdict
}

// Runs tells the Reader which version of the agent CLI runs. Without a version, the pack
// of the Spec only makes readings more cautious.
func (r *Reader) Runs(version string) { r.packed.running = version }

// Unjudged returns the version that runs, if neither the description nor its pack was
// judged on it. It returns "" if the version is not known.
func (r *Reader) Unjudged() string {
	if r.spec.Judged(r.packed.running) {
		return ""
	}
	return r.packed.running
}

// askPack combines the verdict of the Spec's own rules with that of its pack.
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
	own := r.verdict.State
	r.verdict, r.packed.raised = Combine(r.spec, r.packed.running, r.verdict, theirs)
	if own == "" && r.verdict.State != "" && r.picture.Composer == nil {
		r.picture = picture // the pack was judged on this version, so its composer counts
	}
}

// Combine returns what two verdicts on one picture say together. The verdict own is that
// of the Spec's own rules, and theirs is that of its pack. The result counts is the
// verdict on which Coleo may type. The result raised has a more cautious state, or is
// empty. Where raised is set, no rule counts as knowing the screen.
//
// A dialog that only the pack knows is always raised. So only a key that a person names
// is typed into it. Any other verdict of the pack counts by itself only if the pack was
// judged on the version that runs, and the Spec was not checked with that version.
func Combine(s *rules.Spec, version string, own, theirs rules.Verdict) (counts, raised rules.Verdict) {
	pack := s.Pack()
	judged := pack.Judged(version)
	decides := judged && !slices.Contains(s.Checked, version)
	more := theirs.State != "" && coleo.MoreCautious(own.State, theirs.State) != own.State
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
		return counts, raised // idle only if both say so
	}
	return own, raised
}
