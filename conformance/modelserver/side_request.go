package modelserver

import "strings"

// SideRequest is a kind of side request. An agent CLI makes side requests for itself instead of for
// a prompt of the user.
type SideRequest string

// These are the values of SideRequest.
const (
	SideTitle   SideRequest = "title"   // a name for the conversation
	SideSummary SideRequest = "summary" // a shorter form of the conversation, for compaction
	SideCommit  SideRequest = "commit"  // a commit message for a diff
	SideProbe   SideRequest = "probe"   // a single token, which shows whether the endpoint answers
	SideForm    SideRequest = "form"    // an answer in a given JSON format, for example to classify something
	SideOther   SideRequest = "other"   // any other request without tools, in the Anthropic dialect
)

// sideMark identifies a kind of side request by words in the system text, or near the beginning of
// the user's text.
type sideMark struct {
	kind     SideRequest
	inSystem bool
	words    string // in lower case
}

// markHead is how many bytes at the beginning of the user's text are searched for the words of a
// sideMark. Later in the text, the words can be a quotation by the user.
const markHead = 200

func sideMarks() []sideMark {
	return []sideMark{
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

// sideRequestOf returns the kind of a side request, or "" for a main request.
func sideRequestOf(t Turn) SideRequest {
	if t.maxTokens == 1 {
		return SideProbe
	}
	system := strings.ToLower(t.System)
	head := strings.ToLower(t.Prompt[:min(len(t.Prompt), markHead)])
	for _, s := range sideMarks() {
		if s.inSystem && len(t.Tools) == 0 && strings.Contains(system, s.words) ||
			!s.inSystem && strings.Contains(head, s.words) {
			return s.kind
		}
	}
	if t.Dialect == anthropicDialect && len(t.Tools) == 0 {
		return SideOther
	}
	return ""
}

// replyToSideRequest returns the fixed reply to a side request that no rule matches.
func replyToSideRequest(t Turn) Reply {
	switch t.Side {
	case SideTitle:
		if strings.Contains(t.System+t.Prompt, `"title"`) {
			return textReply(`{"title": "Scripted title"}`)
		}
		return textReply("Scripted title")
	case SideSummary:
		return textReply("<analysis>Scripted analysis.</analysis>\n<summary>\nScripted summary of the " +
			"conversation.\n</summary>")
	case SideCommit:
		return textReply("chore: apply the scripted change")
	case SideProbe:
		return textReply("#")
	case SideForm:
		return textReply(mustJSON(t.form.sample()))
	case SideOther, SideAny:
	}
	return textReply("ok")
}

func textReply(text string) Reply { return Reply{Steps: []Step{{Text: text}}} }
