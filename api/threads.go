package api

import (
	"cmp"
	"context"
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
	// HandOver gives the task of an arm to a new arm of another harness, its successor. If the arm works, HandOver
	// returns EBusy. If the request asks to interrupt the turn, HandOver interrupts it instead.
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

type threadOnly struct {
	Harness string `path:"harness" doc:"Harness of the conversation"`
	ID      string `path:"id" doc:"The agent CLI's id of the conversation"`
}

type threadPatch struct {
	Harness string `path:"harness" doc:"Harness of the conversation"`
	ID      string `path:"id" doc:"The agent CLI's id of the conversation"`
	Body    wire.ThreadTitle
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

func (s *Server) renameThread(ctx context.Context, in *threadPatch) (*reply[wire.ThreadReply], error) {
	t, err := s.brain.ChangeThread(ctx, in.Harness, in.ID, coleo.ThreadChange{Title: &in.Body.Title})
	return &reply[wire.ThreadReply]{wire.ThreadReply{Thread: t}}, err
}

func (s *Server) deleteThread(ctx context.Context, in *threadDelete) (*reply[wire.DeleteReply], error) {
	_, err := s.brain.ChangeThread(ctx, in.Harness, in.ID, coleo.ThreadChange{Delete: true, File: in.File})
	return &reply[wire.DeleteReply]{wire.DeleteReply{Deleted: err == nil}}, err
}

// requireName returns EInvalid if a request for a new arm has no name.
func requireName(r wire.SpawnRequest) error {
	if r.Name == "" {
		return coleo.Errorf(coleo.EInvalid, "a new arm needs a name")
	}
	return nil
}

func (s *Server) forkArm(ctx context.Context, in *armBody[wire.SpawnRequest]) (*reply[wire.SpawnReply], error) {
	if err := requireName(in.Body); err != nil {
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
	if err := requireName(in.Body); err != nil {
		return nil, err
	}
	named := in.Body
	named.Harness = cmp.Or(in.Body.Harness, in.Harness)
	if err := s.boundStart(ctx, &named); err != nil {
		return nil, err
	}
	in.Body.Policy = named.Policy
	out, err := s.brain.CloneThread(ctx, in.Harness, in.ID, in.Body)
	return &reply[wire.SpawnReply]{out}, err
}

func (s *Server) armThread(ctx context.Context, in *armOnly) (*reply[wire.ThreadReply], error) {
	t, err := s.brain.ArmThread(ctx, in.ID)
	return &reply[wire.ThreadReply]{wire.ThreadReply{Thread: t}}, err
}

func (s *Server) switchThread(ctx context.Context, in *armBody[wire.ThreadSwitch]) (*reply[wire.SpawnReply], error) {
	out, err := s.brain.SwitchThread(ctx, in.ID, in.Body.Conversation)
	return &reply[wire.SpawnReply]{out}, err
}
