package api

import (
	"context"
	"strconv"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/wire"
)

// This file contains the routes for steering, for the queue of an arm, for parked arms, and for comments
// on changes.

// entryOnly is the request of a route that needs only the arm and an entry of the arm's queue.
type entryOnly struct {
	ID    string `path:"id" doc:"Id or name of the arm"`
	Entry string `path:"entry" doc:"Id of the entry"`
}

// entryBody is the request of a route that changes an entry of a queue.
type entryBody struct {
	ID    string `path:"id" doc:"Id or name of the arm"`
	Entry string `path:"entry" doc:"Id of the entry"`
	Body  wire.FollowUpBody
}

func (s *Server) queueRoutes(d table) {
	const arm = "/api/arms/{id}"
	change(d, operation{post, arm + "/steer", "steer-arm",
		"Send a prompt at once, also while a turn runs; the answer says how it reached the agent CLI", 0},
		s.steer, steerDetail)
	change(d, operation{post, arm + "/abort", "abort-arm",
		"Stop the running turn, and pause the queue if it is not empty; answers when the arm is idle", 0}, s.abort, onlyArm)
	change(d, operation{post, arm + "/followup", "follow-up",
		"Add a prompt to the arm's queue; answers when it is on the disk", 0}, s.followUp, followUpDetail)
	add(d, operation{get, arm + "/queue", "show-queue", "List the prompts that wait until the arm is idle", 0},
		do(func(ctx context.Context, arm string) (coleo.QueueReport, error) {
			return s.brain.Queue(ctx, arm, coleo.QueueOrder{})
		}))
	change(d, operation{patch, arm + "/queue/{entry}", "edit-queued", "Change a prompt of the queue", 0},
		s.editQueued, editDetail)
	change(d, operation{del, arm + "/queue/{entry}", "remove-queued", "Remove a prompt from the queue", 0},
		s.removeQueued, entryDetail)
	change(d, operation{post, arm + "/queue/move", "move-queued", "Move a prompt to another place in the queue", 0},
		s.moveQueued, wholeBody)
	add(d, operation{get, arm + "/on-limit", "arm-on-limit", "Show what the arm does at a limit of its model", 0},
		s.onLimit)
	change(d, operation{post, arm + "/on-limit", "set-arm-on-limit",
		"Change what the arm does at a limit of its model", 0}, s.setOnLimit, wholeBody)
	change(d, operation{post, arm + "/unpark", "unpark-arm",
		"Continue a parked arm now, or end its wait", 0}, s.unpark, wholeBody)
	// the routes to pause and resume exist twice, because pausing an arm means pausing its queue
	for _, path := range []string{"/queue", ""} {
		of := map[string]string{"/queue": "queue", "": "arm"}[path]
		change(d, operation{post, arm + path + "/pause", "pause-" + of, "Send nothing from the queue until it is resumed", 0},
			s.pauseQueue, wholeBody)
		change(d, operation{post, arm + path + "/resume", "resume-" + of, "Send the prompts of the queue again", 0},
			s.resumeQueue, onlyArm)
	}
	add(d, operation{get, "/api/arms/{id}/comments", "list-comments",
		"List the comments on the arm's changes that are not sent", 0}, s.comments)
	change(d, operation{post, "/api/arms/{id}/comments", "add-comment",
		"Store a comment on a line of the arm's changes", 0}, s.comment, commentDetail)
	change(d, operation{del, "/api/arms/{id}/comments", "drop-comments", "Delete the comments that are not sent", 0},
		s.dropComments, onlyArm)
	change(d, operation{post, "/api/arms/{id}/comments/send", "send-comments",
		"Send all comments to the arm as one prompt", 0}, do(s.brain.SendComments), onlyArm)
}

func (s *Server) orderQueue(ctx context.Context, arm string, o coleo.QueueOrder) (*reply[coleo.QueueReport], error) {
	out, err := s.brain.Queue(ctx, arm, o)
	return &reply[coleo.QueueReport]{out}, err
}

func (s *Server) followUp(ctx context.Context, in *armBody[wire.AddBody]) (*reply[coleo.QueueReport], error) {
	return s.orderQueue(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueAdded, ID: in.Body.ID, Text: in.Body.Prompt,
		Files: in.Body.Files, By: callerWord(callerOf(ctx))})
}

func (s *Server) editQueued(ctx context.Context, in *entryBody) (*reply[coleo.QueueReport], error) {
	return s.orderQueue(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueEdited, ID: in.Entry, Text: in.Body.Prompt,
		Files: in.Body.Files})
}

func (s *Server) removeQueued(ctx context.Context, in *entryOnly) (*reply[coleo.QueueReport], error) {
	return s.orderQueue(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueRemoved, ID: in.Entry})
}

func (s *Server) moveQueued(ctx context.Context, in *armBody[wire.MoveBody]) (*reply[coleo.QueueReport], error) {
	return s.orderQueue(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueMoved, ID: in.Body.Entry, To: in.Body.To})
}

func (s *Server) pauseQueue(ctx context.Context, in *armBody[*wire.PauseBody]) (*reply[coleo.QueueReport], error) {
	why := ""
	if in.Body != nil {
		why = in.Body.Why
	}
	if why == "" {
		why = "paused by " + callerWord(callerOf(ctx))
	}
	return s.orderQueue(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueuePaused, Why: why})
}

func (s *Server) resumeQueue(ctx context.Context, in *armOnly) (*reply[coleo.QueueReport], error) {
	return s.orderQueue(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueResumed})
}

func (s *Server) unpark(ctx context.Context, in *armBody[*wire.UnparkBody]) (*reply[coleo.QueueReport], error) {
	step := coleo.QueueContinued
	if in.Body != nil && in.Body.Cancel {
		step = coleo.QueueUnparked
	}
	return s.orderQueue(ctx, in.ID, coleo.QueueOrder{Step: step})
}

func (s *Server) onLimit(ctx context.Context, in *armOnly) (*reply[coleo.OnLimitReport], error) {
	out, err := s.brain.OnLimit(ctx, in.ID, "")
	return &reply[coleo.OnLimitReport]{out}, err
}

func (s *Server) setOnLimit(ctx context.Context, in *armBody[wire.OnLimitBody]) (*reply[coleo.OnLimitReport], error) {
	out, err := s.brain.OnLimit(ctx, in.ID, in.Body.OnLimit)
	return &reply[coleo.OnLimitReport]{out}, err
}

func (s *Server) steer(ctx context.Context, in *armBody[wire.SteerBody]) (*reply[wire.SteerReply], error) {
	b := in.Body
	out, err := s.brain.Steer(ctx, in.ID, coleo.Prompt{Text: b.Prompt, Interrupt: b.Interrupt, Files: b.Files})
	return &reply[wire.SteerReply]{wire.SteerReply{Success: err == nil, Steering: out}}, err
}

func (s *Server) abort(ctx context.Context, in *armOnly) (*reply[wire.AbortReply], error) {
	out, err := s.brain.Abort(ctx, in.ID)
	return &reply[wire.AbortReply]{wire.AbortReply{Success: err == nil, Aborted: out}}, err
}

// callerWord describes the caller of a command in words for people.
func callerWord(c coleo.Caller) string {
	switch c.Kind {
	case coleo.CallerSocket:
		return c.Program + " of user " + strconv.Itoa(c.UID)
	case coleo.CallerCookie:
		return "browser " + c.ID
	case coleo.CallerToken:
		return "a program with token " + c.ID
	case coleo.CallerOperator:
		return "operator token " + c.ID
	}
	return "an unknown caller"
}

func (s *Server) comments(ctx context.Context, in *armOnly) (*reply[wire.CommentsReply], error) {
	out, err := s.brain.Comments(ctx, in.ID)
	return &reply[wire.CommentsReply]{wire.CommentsReply{Comments: list(out)}}, err
}

func (s *Server) comment(ctx context.Context, in *armBody[wire.CommentBody]) (*reply[wire.CommentsReply], error) {
	out, err := s.brain.Comment(ctx, in.ID, changes.Comment{Path: in.Body.Path, Line: in.Body.Line, Text: in.Body.Text})
	return &reply[wire.CommentsReply]{wire.CommentsReply{Comments: list(out)}}, err
}

func (s *Server) dropComments(ctx context.Context, in *armOnly) (*reply[wire.CommentsReply], error) {
	out, err := s.brain.DropComments(ctx, in.ID)
	return &reply[wire.CommentsReply]{wire.CommentsReply{Comments: list(out)}}, err
}
