package modelserver

import "strings"

// Side is the kind of a request that an agent CLI makes for itself, not for the user's
// prompt.
type Side string

// The kinds of side requests.
const (
	SideTitle   Side = "title"   // a name for the conversation
	SideSummary Side = "summary" // a shorter form of the conversation: compaction
	SideCommit  Side = "commit"  // a commit message for a diff
	SideProbe   Side = "probe"   // one token, to see whether the endpoint answers
	SideForm    Side = "form"    // an answer in a given JSON form: a classifier
	SideOther   Side = "other"   // none of these, and without the tools that a main request has
)

// A sign identifies a side request by words in its system text, or at the beginning of
// its user text.
type sign struct {
	kind     Side
	inSystem bool
	words    string // lower case
}

// signHead is how far into the user's text a sign may begin, in bytes. A text that quotes
// a sign further on is the user's own.
const signHead = 200

func signs() []sign {
	return []sign{
		{SideTitle, true, "you are a title generator"},
		{SideTitle, true, "sentence-case title"},
		{SideTitle, true, "generate a concise, single-line task title"},
		{SideTitle, false, "generate a concise, single-line task title"},
		{SideTitle, false, "please reply with a title for the chat"},
		{SideSummary, true, "context summarization"},
		{SideSummary, true, "tasked with summarizing conversations"},
		{SideSummary, true, "*briefly* summarize this partial conversation"},
		{SideSummary, false, "your task is to create a detailed summary of the conversation"},
		{SideSummary, false, "please create a detailed summary of the conversation"},
		{SideSummary, false, "please provide a concise summary of our conversation so far"},
		{SideSummary, false, "context checkpoint"},
		{SideSummary, false, "generate a new <state_snapshot>"},
		{SideSummary, false, "critically evaluate the <state_snapshot>"},
		{SideSummary, false, "you are the component that summarizes a conversation"},
		{SideSummary, false, "produce the <state_snapshot> xml"},
		{SideSummary, true, "compress the"},
		{SideSummary, true, "summarizes internal chat history"},
		{SideSummary, false, "critical: respond with text only. do not call any tools."},
		{SideCommit, true, "one-line git commit messages"},
	}
}

// sideOf returns the kind of side request, or "" for a main request.
func sideOf(t Turn) Side {
	if t.maxTokens == 1 {
		return SideProbe
	}
	system := strings.ToLower(t.System)
	head := strings.ToLower(t.Prompt[:min(len(t.Prompt), signHead)])
	for _, s := range signs() {
		if s.inSystem && len(t.Tools) == 0 && strings.Contains(system, s.words) ||
			!s.inSystem && strings.Contains(head, s.words) {
			return s.kind
		}
	}
	if t.Dialect == AnthropicMessages && len(t.Tools) == 0 {
		return SideOther
	}
	return ""
}

// sideReply answers a side request that no rule matches.
func sideReply(t Turn) Reply {
	switch t.Side {
	case SideTitle:
		if strings.Contains(t.System+t.Prompt, `"title"`) {
			return says(`{"title": "Scripted title"}`)
		}
		return says("Scripted title")
	case SideSummary:
		return says("<analysis>Scripted analysis.</analysis>\n<summary>\nScripted summary of the conversation.\n</summary>")
	case SideCommit:
		return says("chore: apply the scripted change")
	case SideProbe:
		return says("#")
	case SideForm:
		return says(mustJSON(t.form.sample()))
	case SideOther, SideAny:
	}
	return says("ok")
}

func says(text string) Reply { return Reply{Steps: []Step{{Text: text}}} }
