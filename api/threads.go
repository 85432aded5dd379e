package api

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// Threads carries out the requests about conversations, and is a part of Brain. An empty harness
// means any harness.
type Threads interface {
	// Threads returns the conversations that a filter selects. All methods of this interface read
	// the files of the agent CLIs during the call.
	Threads(ctx context.Context, f coleo.ThreadFilter) (coleo.ThreadList, error)
	// Thread returns one conversation with at most `limit` of its messages, beginning after the message with
	// the number lastSeen. Thread returns ENotFound if there is no such conversation.
	Thread(ctx context.Context, harness, id string, lastSeen, limit int) (coleo.ThreadPage, error)
	// ThreadSummary returns a summary of a conversation, in a few lines. It returns ENotFound if
	// there is no such conversation.
	ThreadSummary(ctx context.Context, harness, id string) (coleo.ThreadSummary, error)
	// ChangeThread changes the data that Coleo stores about a conversation. If the change deletes a
	// conversation that an arm has, ChangeThread returns EThreadLocked.
	ChangeThread(ctx context.Context, harness, id string, c coleo.ThreadChange) (coleo.Thread, error)
	// CloneThread starts an arm with a copy of a conversation. It returns EUnsupported if the agent
	// CLI cannot copy conversations.
	CloneThread(ctx context.Context, harness, id string, r wire.SpawnRequest) (wire.SpawnReply, error)
	// ForkArm starts a new arm with a copy of another arm's conversation and with the other arm's
	// configuration. It returns EUnsupported if the conversation cannot be copied, and EBusy while
	// the other arm works.
	ForkArm(ctx context.Context, arm string, r wire.SpawnRequest) (wire.SpawnReply, error)
	// HandOver gives the task of an arm to a new arm of another harness, its successor. If the arm
	// works, HandOver returns EBusy, unless the request asks to interrupt the turn.
	HandOver(ctx context.Context, arm string, r wire.HandoverRequest) (wire.HandoverReply, error)
	// ArmThread returns the conversation of an arm. It returns ENotFound if the arm has no
	// conversation.
	ArmThread(ctx context.Context, arm string) (coleo.Thread, error)
	// SwitchThread makes an arm continue another conversation. It returns EThreadLocked if
	// another arm has that conversation, and EBusy while the arm works.
	SwitchThread(ctx context.Context, arm, conversation string) (wire.SpawnReply, error)
}

type threadsInput struct {
	Project string    `query:"project" doc:"Only conversations in this folder's git repository; an absolute path"`
	Harness string    `query:"harness" doc:"Only of this harness"`
	Prefix  string    `query:"prefix" maxLength:"200" doc:"Only conversations whose id begins with this text"`
	Words   string    `query:"q" maxLength:"1000" doc:"Search prompts and answers for these words; a phrase is in quotes"`
	Arm     string    `query:"arm" doc:"Only conversations that this arm can continue"`
	Since   time.Time `query:"since" doc:"Only conversations with a message after this time"`
	Hidden  bool      `query:"hidden" doc:"Also copies, conversations of subagents, and deleted ones"`
	Limit   int       `query:"limit" minimum:"0" maximum:"500" doc:"50 when left out"`
}

type threadInput struct {
	Harness string `path:"harness" doc:"Harness of the conversation"`
	ID      string `path:"id" doc:"The agent CLI's id of the conversation"`
	After   int    `query:"after" minimum:"0" doc:"Only messages after this number: the value of next in the last answer"`
	Limit   int    `query:"limit" minimum:"0" maximum:"200" default:"100" doc:"Number of messages; 100 when left out"`
}

type threadTitle struct {
	Title string `json:"title" maxLength:"400" doc:"The new title; empty for the agent CLI's own title"`
}

type threadOnly struct {
	Harness string `path:"harness" doc:"Harness of the conversation"`
	ID      string `path:"id" doc:"The agent CLI's id of the conversation"`
}

type threadPatch struct {
	Harness string `path:"harness" doc:"Harness of the conversation"`
	ID      string `path:"id" doc:"The agent CLI's id of the conversation"`
	Body    threadTitle
}

type threadDelete struct {
	Harness string `path:"harness" doc:"Harness of the conversation"`
	ID      string `path:"id" doc:"The agent CLI's id of the conversation"`
	File    bool   `query:"file" doc:"Delete the agent CLI's own file, too"`
}

type threadClone struct {
	Harness string `path:"harness" doc:"Harness of the conversation"`
	ID      string `path:"id" doc:"The agent CLI's id of the conversation"`
	Body    wire.SpawnRequest
}

type threadSwitch struct {
	Conversation string `json:"conversation" minLength:"1" doc:"Id of the conversation to continue"`
}

type threadReply struct {
	Thread coleo.Thread `json:"thread"`
}

func (s *Server) threadRoutes(d table) {
	add(d, operation{get, "/api/threads", "list-threads",
		"List the conversations of the agent CLIs, the newest first, or search them, the best match first", 0},
		s.listThreads)
	add(d, operation{get, "/api/threads/{harness}/{id}", "get-thread", "Show a conversation and its messages", 0},
		s.getThread)
	add(d, operation{get, "/api/threads/{harness}/{id}/summary", "summarise-thread",
		"Show a conversation in a few lines: its first and last prompts, last answer, changed files and open tasks", 0},
		s.summariseThread)
	change(d, operation{patch, "/api/threads/{harness}/{id}", "rename-thread", "Give a conversation a title", 0},
		s.renameThread, titleDetail)
	change(d, operation{del, "/api/threads/{harness}/{id}", "delete-thread",
		"Hide a conversation and forget its texts; 409 while an arm has it", 0}, s.deleteThread, threadDetail)
	change(d, operation{post, "/api/threads/{harness}/{id}/clone", "clone-thread",
		"Start an arm with a copy of a conversation", 201}, s.cloneThread, cloneDetail)
	change(d, operation{post, "/api/arms/{id}/fork", "fork-arm",
		"Start a new arm with a copy of the arm's conversation and with its configuration; 409 while it works", 201},
		s.forkArm, forkDetail)
	change(d, operation{post, "/api/arms/{id}/handover", "hand-over-arm",
		"Pause the arm, and give its task to a new arm of another harness in the same folder; 409 while it works", 201},
		s.handOver, wholeBody)
	add(d, operation{get, "/api/arms/{id}/thread", "arm-thread", "Show the conversation of an arm", 0}, s.armThread)
	change(d, operation{post, "/api/arms/{id}/thread", "switch-thread",
		"Start the arm again with another conversation; 409 while it works, or while another arm has that conversation", 0},
		s.switchThread, wholeBody)
}

func (s *Server) listThreads(ctx context.Context, in *threadsInput) (*reply[coleo.ThreadList], error) {
	out, err := s.brain.Threads(ctx, coleo.ThreadFilter{Project: in.Project, Harness: in.Harness, Prefix: in.Prefix,
		Words: in.Words, Arm: in.Arm, Since: in.Since, Hidden: in.Hidden, Limit: in.Limit})
	out.Threads = list(out.Threads)
	return &reply[coleo.ThreadList]{out}, err
}

func (s *Server) getThread(ctx context.Context, in *threadInput) (*reply[coleo.ThreadPage], error) {
	out, err := s.brain.Thread(ctx, in.Harness, in.ID, in.After, in.Limit)
	out.Messages = list(out.Messages)
	return &reply[coleo.ThreadPage]{out}, err
}

func (s *Server) summariseThread(ctx context.Context, in *threadOnly) (*reply[coleo.ThreadSummary], error) {
	out, err := s.brain.ThreadSummary(ctx, in.Harness, in.ID)
	return &reply[coleo.ThreadSummary]{out}, err
}

func (s *Server) renameThread(ctx context.Context, in *threadPatch) (*reply[threadReply], error) {
	t, err := s.brain.ChangeThread(ctx, in.Harness, in.ID, coleo.ThreadChange{Title: &in.Body.Title})
	return &reply[threadReply]{threadReply{t}}, err
}

func (s *Server) deleteThread(ctx context.Context, in *threadDelete) (*reply[deleteReply], error) {
	_, err := s.brain.ChangeThread(ctx, in.Harness, in.ID, coleo.ThreadChange{Delete: true, File: in.File})
	return &reply[deleteReply]{deleteReply{Deleted: err == nil}}, err
}

// named returns EInvalid if a request for a new arm has no name.
func named(r wire.SpawnRequest) error {
	if r.Name == "" {
		return coleo.Errorf(coleo.EInvalid, "a new arm needs a name")
	}
	return nil
}

func (s *Server) forkArm(ctx context.Context, in *armBody[wire.SpawnRequest]) (*reply[wire.SpawnReply], error) {
	if err := named(in.Body); err != nil {
		return nil, err
	}
	out, err := s.brain.ForkArm(ctx, in.ID, in.Body)
	return &reply[wire.SpawnReply]{out}, err
}

func (s *Server) handOver(ctx context.Context, in *armBody[wire.HandoverRequest]) (*reply[wire.HandoverReply], error) {
	out, err := s.brain.HandOver(ctx, in.ID, in.Body)
	return &reply[wire.HandoverReply]{out}, err
}

func (s *Server) cloneThread(ctx context.Context, in *threadClone) (*reply[wire.SpawnReply], error) {
	if err := named(in.Body); err != nil {
		return nil, err
	}
	named := in.Body
	named.Harness = in.Harness
	if err := s.checkSpawn(ctx, named, false); err != nil {
		return nil, err
	}
	out, err := s.brain.CloneThread(ctx, in.Harness, in.ID, in.Body)
	return &reply[wire.SpawnReply]{out}, err
}

func (s *Server) armThread(ctx context.Context, in *armOnly) (*reply[threadReply], error) {
	t, err := s.brain.ArmThread(ctx, in.ID)
	return &reply[threadReply]{threadReply{t}}, err
}

func (s *Server) switchThread(ctx context.Context, in *armBody[threadSwitch]) (*reply[wire.SpawnReply], error) {
	out, err := s.brain.SwitchThread(ctx, in.ID, in.Body.Conversation)
	return &reply[wire.SpawnReply]{out}, err
}

func threadPath(harness, id string) string {
	return "/api/threads/" + url.PathEscape(harness) + "/" + url.PathEscape(id)
}

// Threads lists the conversations that a filter selects, newest first. If the filter contains
// words, Threads searches for these words, and the best match comes first.
func (c *Client) Threads(ctx context.Context, f coleo.ThreadFilter) (coleo.ThreadList, error) {
	query := url.Values{}
	for name, value := range map[string]string{"project": f.Project, "harness": f.Harness, "prefix": f.Prefix,
		"q": f.Words, "arm": f.Arm} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if !f.Since.IsZero() {
		query.Set("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if f.Hidden {
		query.Set("hidden", "true")
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	var out coleo.ThreadList
	err := c.callFor(ctx, lookTime, get, "/api/threads?"+query.Encode(), nil, &out)
	return out, err
}

// Thread returns one conversation with at most `limit` of its messages, beginning after the message with the
// number lastSeen. If `limit` is 0, Thread returns no messages. It returns ENotFound if there is no such
// conversation.
func (c *Client) Thread(ctx context.Context, harness, id string, lastSeen, limit int) (coleo.ThreadPage, error) {
	var out coleo.ThreadPage
	query := url.Values{"after": {strconv.Itoa(lastSeen)}, "limit": {strconv.Itoa(limit)}}
	err := c.callFor(ctx, lookTime, get, threadPath(harness, id)+"?"+query.Encode(), nil, &out)
	return out, err
}

// ThreadSummary returns a summary of a conversation, in a few lines. These lines are parts of the
// conversation's texts. ThreadSummary returns ENotFound if there is no such conversation.
func (c *Client) ThreadSummary(ctx context.Context, harness, id string) (coleo.ThreadSummary, error) {
	var out coleo.ThreadSummary
	err := c.callFor(ctx, lookTime, get, threadPath(harness, id)+"/summary", nil, &out)
	return out, err
}

// RenameThread gives a conversation a title. If the title is "", the conversation gets the agent
// CLI's own title.
func (c *Client) RenameThread(ctx context.Context, harness, id, title string) (coleo.Thread, error) {
	var out threadReply
	err := c.callFor(ctx, lookTime, patch, threadPath(harness, id), threadTitle{title}, &out)
	return out.Thread, err
}

// DeleteThread hides a conversation and forgets its texts. If deleteFile is true, it also deletes
// the agent CLI's own file. It returns EThreadLocked if an arm has the conversation.
func (c *Client) DeleteThread(ctx context.Context, harness, id string, deleteFile bool) error {
	return c.callFor(ctx, lookTime, del, threadPath(harness, id)+"?file="+strconv.FormatBool(deleteFile), nil, nil)
}

// CloneThread starts an arm with a copy of a conversation.
func (c *Client) CloneThread(ctx context.Context, harness, id string, r wire.SpawnRequest) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, startTime, post, threadPath(harness, id)+"/clone", r, &out)
	return out, err
}

// ForkArm starts the arm r.Name with a copy of another arm's conversation. The new arm also gets
// the other arm's configuration, except for the values that r sets. ForkArm returns EUnsupported if
// the conversation cannot be copied, and EBusy while the other arm works. It returns ENotFound if
// the other arm has no conversation.
func (c *Client) ForkArm(ctx context.Context, arm string, r wire.SpawnRequest) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, startTime, post, armPath(arm, "/fork"), r, &out)
	return out, err
}

// HandOver gives the task of an arm to a new arm of another harness, its successor. If the arm
// works, HandOver returns EBusy. If a dialog of the arm is open, it returns EBlocked. If r asks to
// interrupt the turn, HandOver interrupts the turn instead of returning these errors. After an
// error, the arm keeps its task, but an interrupted turn does not continue.
func (c *Client) HandOver(ctx context.Context, arm string, r wire.HandoverRequest) (wire.HandoverReply, error) {
	var out wire.HandoverReply
	err := c.callFor(ctx, handoverTime, post, armPath(arm, "/handover"), r, &out)
	return out, err
}

// ArmThread returns the conversation of an arm. It returns ENotFound if the arm has no
// conversation.
func (c *Client) ArmThread(ctx context.Context, arm string) (coleo.Thread, error) {
	var out threadReply
	err := c.callFor(ctx, lookTime, get, armPath(arm, "/thread"), nil, &out)
	return out.Thread, err
}

// SwitchThread starts an arm again with another conversation. It returns EThreadLocked if
// another arm has that conversation, and EBusy while the arm works.
func (c *Client) SwitchThread(ctx context.Context, arm, conversation string) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, startTime, post, armPath(arm, "/thread"), threadSwitch{conversation}, &out)
	return out, err
}
