// Package gate holds the commands that wait for a person within a command line: exec runs a
// command once it is approved, and ask prints an answer. The state of a run is kept only in
// the service, so a call repeated with the same key continues where an earlier one was
// killed. The package uses package client and no store.
package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// gate is one run that waits for a person within a command line (exec, ask).
//
// The process may be killed between any two steps, and another one with the same key
// continues. The run's id is derived from the key: the first call creates the run, and
// later calls find it. The state of the run determines the next step (see drive).
type gate struct {
	console.Connection
	*client.Client
	terminal *console.Console
	noun     string
	key      string // empty if not given
	params   client.CreateRunParams
	session  string // empty if not given
	// named is called with the suffix of the request ids whenever the run gets its ids.
	named func(suffix string)
	// spent reports whether the run of the key has served its purpose, so that the same
	// call asks again; nil for never.
	spent    func(*api.RunView) bool
	lease    time.Duration
	timeout  time.Duration
	deadline time.Time
	// suspension returns the requests of the run. afterMs is the remaining time in ms.
	suspension func(afterMs *int64) *api.Suspension
	// raised reports that the requests have been raised.
	raised atomic.Bool
	// fence is the fence of the newest claim by this process.
	fence string
	// outage reports that the person was told that the service is away.
	outage bool
	// shown holds the subjects for which once has been called.
	shown map[string]bool
}

// minPoll is the minimum time between two reads of an unchanged run.
const minPoll = 100 * time.Millisecond

// settings configure a gate from the flags of a command.
type settings struct {
	connection     console.Connection
	noun           string  // "exec" or "ask"
	key            *string // nil if not given
	lease, timeout time.Duration
	session        string // empty if not given
	about          *api.SessionAbout
	input          any
}

// newGate returns a gate for a run that does not exist yet, or for the run of the key.
func newGate(opened *client.Client, terminal *console.Console, given settings) gate {
	return gate{
		Connection: given.connection, Client: opened, terminal: terminal,
		noun: given.noun, key: keyOf(given.key), session: given.session, lease: given.lease, timeout: given.timeout,
		params: client.CreateRunParams{
			Input: given.input, AgentID: "holdpoint-" + given.noun,
			SourcePlugin: "holdpoint", SourceKind: given.noun, ActorID: given.connection.ActorName(),
			Session: given.about,
		},
	}
}

// wait creates or finds the run and drives it. It returns the run if it has ended, and nil
// if act is done with it. If a signal ends waiting (a child of ctx), the request is
// withdrawn, and the error is the exit code. The error is errTimedOut if the time of the
// call has run out by the local clock.
func (g *gate) wait(ctx, waiting context.Context, same any, act actFunc) (*api.RunView, error) {
	waiting, stop := g.untilTimedOut(waiting)
	defer stop()
	view, claim, err := g.open(waiting, same)
	switch {
	case err == nil:
		view, err = g.drive(waiting, view, claim, act)
	case waiting.Err() != nil:
		err = context.Cause(waiting)
	}
	if ended, ok := errors.AsType[console.SignalError](err); ok {
		return nil, g.withdraw(ctx, ended)
	}
	if errors.Is(err, errTimedOut) {
		g.giveUp(ctx)
	}
	return view, err
}

// actFunc handles a claim of the run with a decision. The run is driven on until it returns
// done.
type actFunc func(ctx context.Context, claim *api.Claim) (done bool, err error)

// create creates the run, claimed and waiting. If the session has other active runs, a run
// with a key is queued behind them and asks at its turn. Without a key, create waits here
// instead: a queued run whose process has died would stay in the queue.
func (g *gate) create(ctx context.Context) (*client.CreatedRun, error) {
	params := g.params
	params.Claim = &api.ClaimOptions{WorkerID: workerID(g.noun), LeaseMs: g.lease.Milliseconds()}
	params.Suspend = g.asks()
	created, err := g.CreateRun(ctx, params)
	for errors.Is(err, client.ErrRunNotClaimable) && g.key == "" {
		if err := g.awaitTurn(ctx); err != nil {
			return nil, err
		}
		params.Suspend = g.asks()
		err = g.retryTransient(ctx, func() (err error) {
			created, err = g.CreateRun(ctx, params)
			return err
		})
	}
	if errors.Is(err, client.ErrRunNotClaimable) {
		return g.CreateRun(ctx, g.params)
	}
	return created, err
}

// asks returns the suspension to raise now. Without a key no later call can continue it, so
// the service withdraws it if this process dies.
func (g *gate) asks() *api.Suspension {
	suspension := g.suspension(g.remaining())
	suspension.CancelWhenAbandoned = g.key == ""
	return suspension
}

// awaitTurn waits until the session's active run has ended, for a while.
func (g *gate) awaitTurn(ctx context.Context) error {
	return g.retryTransient(ctx, func() error {
		session, err := g.GetSession(ctx, g.params.SessionID)
		if err != nil {
			return err
		}
		g.sayBack()
		g.sayAhead(ctx, session)
		if session.ActiveRun == nil {
			return console.Sleep(ctx, minPoll)
		}
		started := time.Now()
		view, err := g.AwaitRun(ctx, session.ActiveRun.RunID, client.UntilTerminal, min(maxHeld, g.lease/2))
		if err != nil {
			return err
		}
		if !model.Terminal(view.Status) && time.Since(started) < minPoll {
			return console.Sleep(ctx, minPoll)
		}
		return nil
	})
}

// drive takes the run from its current state until it has ended or act is done with it.
// claim is nil if this process does not hold the run.
func (g *gate) drive(ctx context.Context, view *api.RunView, claim *api.Claim, act actFunc) (*api.RunView, error) {
	var pause console.Backoff // reads may succeed while claims do not
	for {
		var err error
		switch {
		case claim != nil:
			var done bool
			if done, err = g.attend(ctx, claim, act); done {
				return nil, err
			}
			if claim = nil; err == nil {
				view, err = g.await(ctx, client.UntilTerminal, 0)
			}
		case model.Terminal(view.Status):
			return view, nil
		case model.Waiting(view.Status):
			g.sayWaiting(view)
			view, err = g.await(ctx, client.UntilDecided, time.Minute)
		default:
			claim, err = g.ClaimRun(ctx, g.params.RunID, api.ClaimOptions{WorkerID: workerID(g.noun), LeaseMs: g.lease.Milliseconds()})
			if errors.Is(err, client.ErrRunNotClaimable) {
				g.sayHeld(ctx, view)
				view, err = g.await(ctx, client.UntilTerminal, time.Second)
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			pause = console.Backoff{}
		case client.Away(err), errors.Is(err, client.ErrLeaseLost), errors.Is(err, client.ErrRunState):
			g.sayLost(err)
			if err := pause.Sleep(ctx); err != nil {
				return nil, err
			}
			if view, err = g.await(ctx, client.UntilTerminal, 0); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

// await reads the run, held for at most hold, and retries while the service is away. The
// first read after an outage is not held, so that the person learns at once that it is
// over.
func (g *gate) await(ctx context.Context, until client.Until, hold time.Duration) (view *api.RunView, err error) {
	var started time.Time
	err = g.retryTransient(ctx, func() (err error) {
		started = time.Now()
		if view, err = g.AwaitRun(ctx, g.params.RunID, until, hold); err != nil {
			hold = 0
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	g.sayBack()
	if hold > 0 && !model.Terminal(view.Status) && time.Since(started) < minPoll {
		// A service that shuts down answers at once.
		return view, console.Sleep(ctx, minPoll)
	}
	return view, nil
}

// retryTransient makes a call until it succeeds or fails permanently, and says once that
// the service is away. The service has replied before, see [client.Away]. If ctx ends
// first, it returns the cause.
func (g *gate) retryTransient(ctx context.Context, call func() error) error {
	var pause console.Backoff
	for {
		err := call()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !client.Away(err):
			return err
		}
		g.sayLost(err)
		if err := pause.Sleep(ctx); err != nil {
			return err
		}
	}
}

// complete ends the run with its output, and retries while the service is away.
func (g *gate) complete(ctx context.Context, fence string, output api.JSON) error {
	return g.retryTransient(ctx, func() error {
		_, err := g.CompleteRun(ctx, g.params.RunID, fence, output)
		return err
	})
}

// withdraw cancels the request after a signal, unless a later call with its key can
// continue it. It returns the exit code.
func (g *gate) withdraw(ctx context.Context, cause console.SignalError) error {
	code := console.SignalCode(cause.Signal)
	if g.key != "" {
		g.letGo(ctx)
		g.terminal.Say("stopped waiting; the request stays open. Repeat the command with --key %s to continue.", prompt.QuoteArgument(g.key))
		return console.ExitWith(code)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := g.CancelRun(ctx, g.params.RunID, "withdrawn by "+g.ActorName())
	switch {
	case errors.Is(err, client.ErrNotFound) && !client.Away(err):
		return console.ExitWith(code) // nothing has been asked yet
	case err != nil:
		return console.Failed(code, "stopped waiting, but the request could not be withdrawn: %w", err)
	}
	g.terminal.Say("stopped waiting; the request was withdrawn.")
	return console.ExitWith(code)
}

// outcomeOf returns the resolution of the run's last request from its events, for a run
// that was ended by it (an expired or cancelled question).
func (g *gate) outcomeOf(ctx context.Context) (api.Resolution, error) {
	decisions, _, err := console.Decisions(ctx, g.Client, g.params.RunID)
	if len(decisions) == 0 {
		return api.Resolution{}, err
	}
	last := decisions[len(decisions)-1]
	if last.Outcome != api.OutcomeCancelled && (last.Outcome != api.OutcomeExpired || g.noun == "exec") {
		return api.Resolution{}, nil // the run was ended later, by someone else: an expired approval does not end it
	}
	return last, nil
}

// workerID names this process in a lease.
func workerID(noun string) string {
	host, err := os.Hostname()
	if err != nil || !refusal.ValidID(host) {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%.100s:%d", noun, host, os.Getpid())
}
