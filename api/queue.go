package api

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
)

// This file contains the routes for steering, for the queue of an arm, for parked arms, and for comments
// on changes.

type followUpBody struct {
	Prompt string   `json:"prompt" minLength:"1" doc:"The text"`
	Files  []string `json:"files,omitempty" doc:"Absolute paths on the arm's machine, added to the text"`
}

// addBody is the body of a request to add a prompt. It repeats the fields of followUpBody, because
// huma ignores the fields of an embedded struct that is not exported.
type addBody struct {
	Prompt string   `json:"prompt" minLength:"1" doc:"The text"`
	Files  []string `json:"files,omitempty" doc:"Absolute paths on the arm's machine, added to the text"`
	ID     string   `json:"id,omitempty" pattern:"^[A-Z2-7]{26}$" doc:"The id of the prompt, if the caller chooses it"`
}

type moveBody struct {
	Entry string `json:"entry" minLength:"1" doc:"Id of the entry"`
	To    int    `json:"to" minimum:"1" doc:"The new place, from 1"`
}

type pauseBody struct {
	Why string `json:"why,omitempty" maxLength:"200" doc:"The reason, for people"`
}

type unparkBody struct {
	Cancel bool `json:"cancel,omitempty" doc:"Do not continue by itself; prompts are sent from the queue again"`
}

type onLimitBody struct {
	OnLimit coleo.OnLimit `json:"onLimit" minLength:"1" maxLength:"500" doc:"A list of model:NAME, handover:HARNESS, and wait or ask"`
}

type steerBody struct {
	Prompt    string   `json:"prompt" minLength:"1" doc:"The text"`
	Interrupt bool     `json:"interrupt,omitempty" doc:"Stop the running turn, even if the agent CLI keeps a queue"`
	Files     []string `json:"files,omitempty" doc:"Absolute paths on the arm's machine, added to the text"`
}

type abortReply struct {
	Success bool `json:"success"`
	coleo.Aborted
}

type steerReply struct {
	Success bool `json:"success"`
	coleo.Steering
}

// entryOnly is the request of a route that needs only the arm and an entry of the arm's queue.
type entryOnly struct {
	ID    string `path:"id" doc:"Id or name of the arm"`
	Entry string `path:"entry" doc:"Id of the entry"`
}

// entryBody is the request of a route that changes an entry of a queue.
type entryBody struct {
	ID    string `path:"id" doc:"Id or name of the arm"`
	Entry string `path:"entry" doc:"Id of the entry"`
	Body  followUpBody
}

func (s *Server) queueRoutes(d table) {
	const arm = "/api/arms/{id}"
	change(d, operation{post, arm + "/steer", "steer-arm",
		"Send a prompt at once, also while a turn runs; the answer says how it reached the agent CLI", 0}, s.steer, steerDetail)
	change(d, operation{post, arm + "/abort", "abort-arm",
		"Stop the running turn, and pause the queue if it is not empty; answers when the arm is idle", 0}, s.abort, onlyArm)
	change(d, operation{post, arm + "/followup", "follow-up",
		"Add a prompt to the arm's queue; answers when it is on the disk", 0}, s.followUp, followUpDetail)
	add(d, operation{get, arm + "/queue", "show-queue", "List the prompts that wait until the arm is idle", 0},
		do(func(ctx context.Context, arm string) (coleo.QueueReport, error) {
			return s.brain.Queue(ctx, arm, coleo.QueueOrder{})
		}))
	change(d, operation{edit, arm + "/queue/{entry}", "edit-queued", "Change a prompt of the queue", 0},
		s.editQueued, editDetail)
	change(d, operation{del, arm + "/queue/{entry}", "remove-queued", "Remove a prompt from the queue", 0},
		s.removeQueued, entryDetail)
	change(d, operation{post, arm + "/queue/move", "move-queued", "Move a prompt to another place in the queue", 0},
		s.moveQueued, wholeBody)
	add(d, operation{get, arm + "/on-limit", "arm-on-limit", "Show what the arm does at a limit of its model", 0}, s.onLimit)
	change(d, operation{post, arm + "/on-limit", "set-arm-on-limit", "Change what the arm does at a limit of its model", 0},
		s.setOnLimit, wholeBody)
	change(d, operation{post, arm + "/unpark", "unpark-arm",
		"Continue a parked arm now, or end its wait", 0}, s.unpark, wholeBody)
	// the arm itself has the same two routes, because pausing an arm means pausing its queue
	for _, path := range []string{"/queue", ""} {
		of := map[string]string{"/queue": "queue", "": "arm"}[path]
		change(d, operation{post, arm + path + "/pause", "pause-" + of, "Send nothing from the queue until it is resumed", 0},
			s.pauseQueue, wholeBody)
		change(d, operation{post, arm + path + "/resume", "resume-" + of, "Send the prompts of the queue again", 0},
			s.resumeQueue, onlyArm)
	}
	add(d, operation{get, "/api/arms/{id}/comments", "list-comments",
		"List the comments on the arm's changes that are not sent", 0}, s.comments)
	change(d, operation{post, "/api/arms/{id}/comments", "add-comment", "Store a comment on a line of the arm's changes", 0},
		s.comment, commentDetail)
	change(d, operation{del, "/api/arms/{id}/comments", "drop-comments", "Delete the comments that are not sent", 0},
		s.dropComments, onlyArm)
	change(d, operation{post, "/api/arms/{id}/comments/send", "send-comments", "Send all comments to the arm as one prompt",
		0}, do(s.brain.SendComments), onlyArm)
}

func (s *Server) ordered(ctx context.Context, arm string, o coleo.QueueOrder) (*reply[coleo.QueueReport], error) {
	out, err := s.brain.Queue(ctx, arm, o)
	return &reply[coleo.QueueReport]{out}, err
}

func (s *Server) followUp(ctx context.Context, in *armBody[addBody]) (*reply[coleo.QueueReport], error) {
	return s.ordered(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueAdded, ID: in.Body.ID, Text: in.Body.Prompt,
		Files: in.Body.Files, By: callerWord(callerOf(ctx))})
}

func (s *Server) editQueued(ctx context.Context, in *entryBody) (*reply[coleo.QueueReport], error) {
	return s.ordered(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueEdited, ID: in.Entry, Text: in.Body.Prompt,
		Files: in.Body.Files})
}

func (s *Server) removeQueued(ctx context.Context, in *entryOnly) (*reply[coleo.QueueReport], error) {
	return s.ordered(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueRemoved, ID: in.Entry})
}

func (s *Server) moveQueued(ctx context.Context, in *armBody[moveBody]) (*reply[coleo.QueueReport], error) {
	return s.ordered(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueMoved, ID: in.Body.Entry, To: in.Body.To})
}

func (s *Server) pauseQueue(ctx context.Context, in *armBody[*pauseBody]) (*reply[coleo.QueueReport], error) {
	why := ""
	if in.Body != nil {
		why = in.Body.Why
	}
	if why == "" {
		why = "paused by " + callerWord(callerOf(ctx))
	}
	return s.ordered(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueuePaused, Why: why})
}

func (s *Server) resumeQueue(ctx context.Context, in *armOnly) (*reply[coleo.QueueReport], error) {
	return s.ordered(ctx, in.ID, coleo.QueueOrder{Step: coleo.QueueResumed})
}

func (s *Server) unpark(ctx context.Context, in *armBody[*unparkBody]) (*reply[coleo.QueueReport], error) {
	step := coleo.QueueContinued
	if in.Body != nil && in.Body.Cancel {
		step = coleo.QueueUnparked
	}
	return s.ordered(ctx, in.ID, coleo.QueueOrder{Step: step})
}

func (s *Server) onLimit(ctx context.Context, in *armOnly) (*reply[coleo.OnLimitReport], error) {
	out, err := s.brain.OnLimit(ctx, in.ID, "")
	return &reply[coleo.OnLimitReport]{out}, err
}

func (s *Server) setOnLimit(ctx context.Context, in *armBody[onLimitBody]) (*reply[coleo.OnLimitReport], error) {
	out, err := s.brain.OnLimit(ctx, in.ID, in.Body.OnLimit)
	return &reply[coleo.OnLimitReport]{out}, err
}

func (s *Server) steer(ctx context.Context, in *armBody[steerBody]) (*reply[steerReply], error) {
	b := in.Body
	out, err := s.brain.Steer(ctx, in.ID, coleo.Prompt{Text: b.Prompt, Interrupt: b.Interrupt, Files: b.Files})
	return &reply[steerReply]{steerReply{err == nil, out}}, err
}

func (s *Server) abort(ctx context.Context, in *armOnly) (*reply[abortReply], error) {
	out, err := s.brain.Abort(ctx, in.ID)
	return &reply[abortReply]{abortReply{err == nil, out}}, err
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

// Queue returns the queue of an arm. It returns EUnsupported if the host agent is too old to keep a
// queue.
func (c *Client) Queue(ctx context.Context, arm string) (coleo.Queue, error) {
	r, err := c.queue(ctx, get, armPath(arm, "/queue"), nil)
	return r.Queue, err
}

// FollowUp adds a prompt to the queue of an arm. It returns when the prompt is on the disk. The ID
// of the report becomes the id of the prompt's run.
func (c *Client) FollowUp(ctx context.Context, arm, text string, files []string) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/followup"), followUpBody{Prompt: text, Files: files})
}

// FollowUpOnce does the same as FollowUp, with an id that the caller has chosen with rand.Text. If
// the arm has or has had a prompt with this id, the call changes nothing. FollowUpOnce returns the
// id of the prompt, which is also the id of the prompt's run. An older host agent ignores the given
// id and chooses another. FollowUpOnce returns EConflict if the prompt has left the queue without a
// run.
func (c *Client) FollowUpOnce(ctx context.Context, arm, id, text string) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/followup"), addBody{Prompt: text, ID: id})
}

// EditQueued changes an entry of the queue. It returns ENotFound if there is no such entry, and
// EBusy if the entry is being sent now.
func (c *Client) EditQueued(ctx context.Context, arm, entry, text string, files []string) (coleo.QueueReport, error) {
	return c.queue(ctx, edit, armPath(arm, "/queue/"+url.PathEscape(entry)), followUpBody{Prompt: text, Files: files})
}

// RemoveQueued removes an entry from the queue. It returns the errors of EditQueued.
func (c *Client) RemoveQueued(ctx context.Context, arm, entry string) (coleo.QueueReport, error) {
	return c.queue(ctx, del, armPath(arm, "/queue/"+url.PathEscape(entry)), nil)
}

// MoveQueued moves an entry of the queue to a new position, counted from 1. It returns the errors
// of EditQueued.
func (c *Client) MoveQueued(ctx context.Context, arm, entry string, to int) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/queue/move"), moveBody{Entry: entry, To: to})
}

// PauseArm pauses the queue of an arm. No entry of the queue is sent until ResumeArm is called.
func (c *Client) PauseArm(ctx context.Context, arm, why string) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/pause"), pauseBody{Why: why})
}

// ResumeArm ends the pause of an arm's queue.
func (c *Client) ResumeArm(ctx context.Context, arm string) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/resume"), nil)
}

// UnparkArm makes a parked arm continue now. If dropTurn is true, the arm drops the turn that met
// the limit, and Coleo resumes sending the prompts of the arm's queue. UnparkArm returns EConflict
// if the arm is not parked.
func (c *Client) UnparkArm(ctx context.Context, arm string, dropTurn bool) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/unpark"), unparkBody{dropTurn})
}

// OnLimit changes what an arm does at a limit of its model, and returns the resulting setting. If
// newValue is "", OnLimit only returns the present setting. It returns EInvalid or EUnsupported if
// the list contains an alternative that the arm can never use.
func (c *Client) OnLimit(ctx context.Context, arm string, newValue coleo.OnLimit) (coleo.OnLimitReport, error) {
	var out coleo.OnLimitReport
	if newValue == "" {
		return out, c.call(ctx, get, armPath(arm, "/on-limit"), nil, &out)
	}
	return out, c.callFor(ctx, lookTime, post, armPath(arm, "/on-limit"), onLimitBody{newValue}, &out)
}

func (c *Client) queue(ctx context.Context, method, path string, in any) (coleo.QueueReport, error) {
	var out coleo.QueueReport
	err := c.call(ctx, method, path, in, &out)
	return out, err
}

// Steer sends a prompt at once, even during a turn. It returns how the prompt reached the agent
// CLI. If a dialog is open, Steer returns EBlocked. It also returns the errors of Prompt.
func (c *Client) Steer(ctx context.Context, arm string, p coleo.Prompt) (coleo.Steering, error) {
	var out steerReply
	err := c.callFor(ctx, promptTime(p.Text)+steerTime, post, armPath(arm, "/steer"),
		steerBody{Prompt: p.Text, Interrupt: p.Interrupt, Files: p.Files}, &out)
	return out.Steering, notDelivered(err)
}

// Abort stops the running turn and waits until the turn has stopped. If the queue is not empty,
// Abort also pauses the queue.
func (c *Client) Abort(ctx context.Context, arm string) (coleo.Aborted, error) {
	var out abortReply
	err := c.callFor(ctx, steerTime, post, armPath(arm, "/abort"), nil, &out)
	return out.Aborted, err
}

type commentsReply struct {
	Comments []changes.Comment `json:"comments"`
}

// commentBody contains the fields of a comment that a client sets. Serve sets the other fields.
type commentBody struct {
	Path string `json:"path" minLength:"1" maxLength:"4096" doc:"The file, relative to the arm's folder"`
	Line int    `json:"line" minimum:"1" doc:"Number of the line, from 1"`
	Text string `json:"text" minLength:"1" maxLength:"4096" doc:"The comment for the agent CLI"`
}

func (s *Server) comments(ctx context.Context, in *armOnly) (*reply[commentsReply], error) {
	out, err := s.brain.Comments(ctx, in.ID)
	return &reply[commentsReply]{commentsReply{list(out)}}, err
}

func (s *Server) comment(ctx context.Context, in *armBody[commentBody]) (*reply[commentsReply], error) {
	out, err := s.brain.Comment(ctx, in.ID, changes.Comment{Path: in.Body.Path, Line: in.Body.Line, Text: in.Body.Text})
	return &reply[commentsReply]{commentsReply{list(out)}}, err
}

func (s *Server) dropComments(ctx context.Context, in *armOnly) (*reply[commentsReply], error) {
	out, err := s.brain.DropComments(ctx, in.ID)
	return &reply[commentsReply]{commentsReply{list(out)}}, err
}

// Comments returns the unsent comments on the arm's changes.
func (c *Client) Comments(ctx context.Context, arm string) ([]changes.Comment, error) {
	var out commentsReply
	err := c.call(ctx, get, armPath(arm, "/comments"), nil, &out)
	return out.Comments, err
}

// Comment stores a new comment, and returns all comments.
func (c *Client) Comment(ctx context.Context, arm string, one changes.Comment) ([]changes.Comment, error) {
	var out commentsReply
	err := c.callFor(ctx, steerTime, post, armPath(arm, "/comments"), commentBody{one.Path, one.Line, one.Text}, &out)
	return out.Comments, err
}

// DropComments deletes the unsent comments, and returns the deleted comments.
func (c *Client) DropComments(ctx context.Context, arm string) ([]changes.Comment, error) {
	var out commentsReply
	err := c.callFor(ctx, steerTime, del, armPath(arm, "/comments"), nil, &out)
	return out.Comments, err
}

// SendComments sends all comments to the arm as one prompt. If this fails, all comments are kept.
func (c *Client) SendComments(ctx context.Context, arm string) (changes.Sent, error) {
	var out changes.Sent
	most := strings.Repeat("x", changes.MaxCommentPrompt)
	err := c.callFor(ctx, promptTime(most), post, armPath(arm, "/comments/send"), nil, &out)
	return out, err
}
