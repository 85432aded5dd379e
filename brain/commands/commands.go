// Package commands sends commands, such as a prompt, an answer or a key, from people and programs to the
// arms' host agents. It waits for the host agent's report, and decides what the report proves.
//
// Package commands does not know the host agents, so its caller must find the host agent of an arm.
package commands

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// Config contains what Commands needs.
type Config struct {
	Find func(ctx context.Context, idOrName string) (coleo.Arm, error) // returns the named arm, or ENotFound
	// Ask sends a command to the arm's host agent, waits for the report for at most the time limit, and
	// decodes the report into `out`. It returns EExited if the arm has never run, and EUnavailable if the
	// host agent cannot be asked. Other errors come from the host agent.
	Ask func(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error
	// Permit waits until Coleo is permitted to type into the arm. It returns EUnproven if ctx ends
	// first.
	Permit func(ctx context.Context, arm coleo.Arm) error
	// CatchUp reads all new events of a host into serve's store before it returns.
	CatchUp func(ctx context.Context, host string)
	// SettledOn returns the host of an arm. If the arm is moving to another host, SettledOn first waits for the end of
	// the move.
	SettledOn func(ctx context.Context, arm coleo.Arm) string
	// RequireFileSupport returns EUnsupported if the host agent is too old to add files to a prompt.
	RequireFileSupport func(host string) error
}

// Commands sends the commands. It has no state, and is safe for concurrent use.
type Commands struct{ config Config }

// New returns the commands for the arms that c.Find finds.
func New(c Config) *Commands { return &Commands{c} }

// OrderAndCatchUp sends a command about one arm to the arm's host agent, and then reads the host's new events into
// the store. If the command types keys and the arm needs a permit for this, OrderAndCatchUp first waits for a
// permit.
//
// It returns ENotFound if there is no such arm. It returns EUnproven if the arm gets no permit before ctx ends. It
// returns EExited if the arm has never run, and EUnavailable if the host agent cannot be asked. Other errors come
// from the host agent.
func (c *Commands) OrderAndCatchUp(ctx context.Context, idOrName string, op bus.Op, limit time.Duration,
	in func(coleo.Arm) any, out any) error {
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return err
	}
	if op.Types() {
		if err := c.config.Permit(ctx, arm); err != nil {
			return err
		}
	}
	err = c.config.Ask(ctx, arm, op, limit, in(arm), out)
	c.config.CatchUp(ctx, arm.AgentID)
	if now := c.config.SettledOn(ctx, arm); now != arm.AgentID {
		c.config.CatchUp(ctx, now)
	}
	return err
}

func (c *Commands) query(ctx context.Context, idOrName string, op bus.Op, out any) error {
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return err
	}
	err = c.config.Ask(ctx, arm, op, bus.DefaultTimeout, OnArm(arm), out)
	// the host agent may have logged events before it replied
	c.config.CatchUp(ctx, arm.AgentID)
	return err
}

// OnArm returns the order for a command that needs only the arm's id.
func OnArm(arm coleo.Arm) any { return bus.ArmOrder{Arm: arm.ID} }

// OnGeneration returns the order for a command about the generation that the arm's row names. The host agent
// returns EStale if it has started a later generation, for example for another user.
func OnGeneration(arm coleo.Arm) any { return bus.ArmOrder{Arm: arm.ID, Generation: arm.Generation} }

// NotSent returns the error for a command that was not sent to any host agent. The error has the code and
// the message of its cause.
func NotSent(because *coleo.Error) error { return unsent{because} }

// unsent is the error for a command that was not sent to any host agent.
type unsent struct{ because *coleo.Error }

// Error returns a message that says that nothing was done.
func (u unsent) Error() string { return u.because.Message }

// Unwrap returns the coleo.Error with its code.
func (u unsent) Unwrap() error { return u.because }

// markUndelivered sets the field Delivered of an error to false if the error proves that the prompt was not
// delivered. It returns any other error unchanged.
func markUndelivered(err error) error {
	var e *coleo.Error
	if !errors.As(err, &e) || bus.IsUnanswered(err) {
		return err
	}
	known := errors.As(err, new(unsent)) || bus.IsUnreachable(err)
	switch e.Code {
	case coleo.EPromptLost, coleo.EUnsettled, coleo.ETimeout, coleo.EExited, coleo.EInternal, coleo.EUnavailable:
		if !known {
			return err
		}
	case coleo.EConflict, coleo.EInvalid, coleo.ENotFound, coleo.EUnauthorized, coleo.EForbidden,
		coleo.ENotInstalled, coleo.EBlocked, coleo.EBusy, coleo.EUnrecognised, coleo.EStale, coleo.EUnproven,
		coleo.EUnsupported, coleo.EThreadLocked,
		coleo.ETurnAsks, coleo.ETurnFailed, coleo.ETurnInterrupted, coleo.ETurnUnproven, coleo.EAnswerUnfit:
	}
	marked := *e
	marked.Delivered = new(bool)
	return &marked
}
