// Package gate holds the commands that wait for a person on behalf of a command line:
// exec runs a command once it was approved, and ask prints an answer. What became of a
// run is on the service alone, so a call that is repeated with its key goes on where an
// earlier one was killed. The package knows package client and no store.
package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// gate is one run that waits for a person on behalf of a command line (exec, ask).
//
// Any process may be killed between two steps, and another one with the same key goes
// on: the run's id follows from the key, so the first call makes the run and every later
// one finds it. Where the run stands then says what comes next (see drive).
type gate struct {
	console.Connection
	*client.Client
	terminal *console.Console
	noun     string
	key      string // empty when the caller gave none
	params   client.CreateRunParams
	session  string // empty when the caller gave none
	// named is told the end of the ids of the requests, whenever the run is named.
	named func(suffix string)
	// spent reports whether a run that the key stands for has done its work, so that the same call asks
	// anew; nil for never.
	spent    func(*api.RunView) bool
	lease    time.Duration
	timeout  time.Duration
	deadline time.Time
	// suspension returns what the run asks for, with what is left of its time in milliseconds.
	suspension func(afterMs *int64) *api.Suspension
	// raised says that the run asks already.
	raised atomic.Bool
	// fence is that of the newest claim by this process.
	fence string
	// outage says that the person was told that the service is away.
	outage bool
	// shown holds what once has said.
	shown map[string]bool
}

// minPoll is the least time between two reads of a run that has not moved.
const minPoll = 100 * time.Millisecond

// settings are what the flags of a command say of its gate.
type settings struct {
	connection     console.Connection
	noun           string  // what the run is for: "exec" or "ask"
	key            *string // nil when the caller gave none
	lease, timeout time.Duration
	session        string // empty when the caller gave none
	input          any
}

// newGate returns a gate for a run that does not exist yet, or that the key stands for.
func newGate(opened *client.Client, terminal *console.Console, given settings) gate {
	return gate{
		Connection: given.connection, Client: opened, terminal: terminal,
		noun: given.noun, key: keyOf(given.key), session: given.session, lease: given.lease, timeout: given.timeout,
		params: client.CreateRunParams{
			Input: given.input, AgentID: "holdpoint-" + given.noun,
			SourcePlugin: "holdpoint", SourceKind: given.noun, ActorID: given.connection.ActorName(),
		},
	}
}

// wait makes or finds the run and drives it. It returns the run when it is over, and nil
// when act is done with it. When a signal ended waiting, which is below ctx, the request
// is withdrawn, and the error is the exit code. The error is errTimedOut when the time that the
// caller gives has run out by the clock of this process, whatever the service says or does not.
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
	var ended console.SignalError
	switch {
	case errors.As(err, &ended):
		return nil, g.withdraw(ctx, ended)
	case errors.Is(err, errTimedOut):
		g.giveUp(ctx)
	}
	return view, err
}

// actFunc acts on a claim of the run that carries a decision. While it is not done, the
// run is driven on.
type actFunc func(ctx context.Context, claim *api.Claim) (done bool, err error)

// create makes the run, held and waiting. While the session has other runs, one with a key queues
// behind them and asks when it is its turn. One without a key waits beside the queue: should this
// process die there, nothing of it would ever leave the queue.
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

// asks returns what the run asks for now. Without a key nobody comes back to it, so the service
// withdraws it when this process has died.
func (g *gate) asks() *api.Suspension {
	suspension := g.suspension(g.remaining())
	suspension.CancelWhenAbandoned = g.key == ""
	return suspension
}

// awaitTurn waits until the run that has the session is over, for a while.
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

// drive takes the run from where it stands until it is over, or until act is done with
// it. claim is nil when this process does not hold the run.
func (g *gate) drive(ctx context.Context, view *api.RunView, claim *api.Claim, act actFunc) (*api.RunView, error) {
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
		case console.Transient(err), errors.Is(err, client.ErrLeaseLost), errors.Is(err, client.ErrRunState):
			g.sayLost(err)
			if view, err = g.await(ctx, client.UntilTerminal, 0); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

// await reads the run, held at most for hold, and retries while the service is away.
// After an outage the read is not held, so that the end of it shows at once.
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

// retryTransient makes a call until it succeeds or fails for good, and says once that
// the service is away. When ctx ends first, it returns the cause.
func (g *gate) retryTransient(ctx context.Context, call func() error) error {
	var pause console.Backoff
	for {
		err := call()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !console.Transient(err):
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

// withdraw cancels the request when a signal ended the wait, unless a later call with
// its key can go on with it. It returns the exit code.
func (g *gate) withdraw(ctx context.Context, cause console.SignalError) error {
	code := console.SignalCode(cause.Signal)
	if g.key != "" {
		g.letGo(ctx)
		g.terminal.Say("stopped waiting; the request stays open. The same command with --key %s takes it up again.", console.QuoteArgument(g.key))
		return console.ExitWith(code)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := g.CancelRun(ctx, g.params.RunID, "withdrawn by "+g.ActorName())
	switch {
	case errors.Is(err, client.ErrNotFound):
		return console.ExitWith(code) // nothing had been asked yet
	case err != nil:
		return console.Failed(code, "stopped waiting, but the request could not be withdrawn: %w", err)
	}
	g.terminal.Say("stopped waiting; the request was withdrawn.")
	return console.ExitWith(code)
}

// outcomeOf returns the resolution of the run's last request from its events, for a
// run that ended by its decision (an expired or cancelled question).
func (g *gate) outcomeOf(ctx context.Context) (api.Resolution, error) {
	var last api.Resolution
	for entry, err := range g.AllRunEvents(ctx, g.params.RunID, client.EventListParams{}) {
		if err != nil {
			return last, err
		}
		var event struct {
			Type        string           `json:"type"`
			Resolution  api.Resolution   `json:"resolution"`
			Resolutions []api.Resolution `json:"resolutions"`
		}
		if json.Unmarshal(entry.Event, &event) != nil {
			continue
		}
		switch event.Type {
		case string(api.EventUserQuestionResolved):
			last = event.Resolution
		case string(api.EventApprovalResolved):
			last = event.Resolutions[len(event.Resolutions)-1]
		}
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
