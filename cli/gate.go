package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// gate is one run that waits for a person on behalf of a command line (exec, ask).
//
// Every step that it takes is one that another process may take after it was killed:
// the run's id follows from the key, so the first call makes the run and every later
// one finds it. From there on where the run stands says what comes next (see drive).
type gate struct {
	connection
	*client.Client
	console *console
	noun    string // what the run is for: "exec" or "ask"
	key     string // empty when the caller gave none
	params  client.CreateRunParams
	lease   time.Duration
	// lost says that the outage has been told.
	lost bool
	told map[string]bool
}

// gateIDs are the identifiers of a gate's run. Without a key they are new ones.
type gateIDs struct{ session, run, request string }

// newGateIDs derives the ids. A key stands for one run of its noun on the service,
// whoever gives it and from wherever.
func newGateIDs(noun, requestNoun, session, key string) gateIDs {
	suffix := strings.TrimPrefix(runs.NewID(noun), noun+"_")
	if key != "" {
		sum := sha256.Sum256([]byte(noun + "\x00" + key))
		suffix = hex.EncodeToString(sum[:16])
	}
	run := noun + "-" + suffix
	return gateIDs{
		session: cmp.Or(session, run),
		run:     run,
		request: requestNoun + "-" + suffix[len(suffix)-10:],
	}
}

// identity is how a later call with the same key knows whether it is the same one.
type identity struct {
	MadeBy string `json:"made_by"`
	Digest string `json:"digest"`
}

// open makes the run, already waiting, or finds the one that the key stands for.
func (g *gate) open(ctx context.Context, same any) (*api.RunView, error) {
	digest, err := document.Digest(same)
	if err != nil {
		return nil, err
	}
	mine := identity{MadeBy: "holdpoint " + g.noun, Digest: digest}
	g.params.Metadata = mine
	g.params.AgentID = "holdpoint-" + g.noun
	g.params.SourcePlugin, g.params.SourceKind, g.params.ActorID = "holdpoint", g.noun, g.actor()
	created, err := g.CreateRun(ctx, g.params)
	if errors.Is(err, client.ErrRunNotClaimable) {
		// The session has other runs. This one queues behind them and asks when it is
		// its turn.
		queued := g.params
		queued.Suspend = nil
		created, err = g.CreateRun(ctx, queued)
	}
	switch {
	case err == nil:
		return &created.RunView, nil
	case !errors.Is(err, client.ErrIDConflict):
		return nil, g.reached(err)
	}
	// What of the call decides nothing, like its deadline, may differ from the first
	// time: the first request stands.
	found, err := g.GetRun(ctx, g.params.RunID)
	if err != nil {
		return nil, g.reached(err)
	}
	var theirs identity
	if json.Unmarshal(found.Metadata, &theirs) != nil || theirs != mine {
		return nil, fmt.Errorf("the key %q was used for something else: run %s; nothing was done", g.key, found.RunID)
	}
	return found, nil
}

// drive takes the run from where it stands until it is over, or until act is done
// with it. act is handed each claim of the run that carries a decision.
func (g *gate) drive(ctx context.Context, view *api.RunView, act func(context.Context, *api.Claim) (done bool, err error)) (*api.RunView, error) {
	for {
		var err error
		switch {
		case model.Terminal(view.Status):
			return view, nil
		case model.Waiting(view.Status):
			g.tellWaiting(view)
			view, err = g.await(ctx, client.UntilDecided, time.Minute)
		default:
			var done bool
			if done, err = g.step(ctx, act); done {
				return nil, err
			}
			if err == nil {
				view, err = g.await(ctx, client.UntilTerminal, 0)
			}
			if errors.Is(err, client.ErrRunNotClaimable) {
				g.tellHeld(view)
				view, err = g.await(ctx, client.UntilTerminal, time.Second)
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
		case transient(err), errors.Is(err, client.ErrLeaseLost), errors.Is(err, client.ErrRunState):
			g.tellLost(err)
			if view, err = g.await(ctx, client.UntilTerminal, 0); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

// step claims the run and either asks, when that has not been done, or acts.
func (g *gate) step(ctx context.Context, act func(context.Context, *api.Claim) (bool, error)) (done bool, err error) {
	claim, err := g.ClaimRun(ctx, g.params.RunID, api.ClaimOptions{WorkerID: workerID(g.noun), LeaseMs: g.lease.Milliseconds()})
	if err != nil {
		return false, err
	}
	if claim.Resume == nil {
		_, err := g.Suspend(ctx, g.params.RunID, claim.Lease.Fence, *g.params.Suspend)
		return false, err
	}
	return act(ctx, claim)
}

// await reads the run, held at most for wait, however long the service is away.
// After an outage it is not held, so that it is known at once that this is over.
func (g *gate) await(ctx context.Context, until client.Until, wait time.Duration) (*api.RunView, error) {
	var pause backoff
	for {
		started := time.Now()
		view, err := g.AwaitRun(ctx, g.params.RunID, until, wait)
		switch {
		case err == nil:
			g.tellBack()
			if wait > 0 && !model.Terminal(view.Status) && time.Since(started) < minPoll {
				// A service that goes away answers at once.
				return view, sleep(ctx, minPoll)
			}
			return view, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !transient(err):
			return nil, err
		}
		g.tellLost(err)
		wait = 0
		if err := pause.sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// record ends the run with its output and reports whether that is on record. It
// tries again while the service is away, until ctx ends.
func (g *gate) record(ctx context.Context, fence string, output api.JSON) error {
	var pause backoff
	for {
		_, err := g.CompleteRun(ctx, g.params.RunID, fence, output)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !transient(err):
			return err
		}
		g.tellLost(err)
		if err := pause.sleep(ctx); err != nil {
			return err
		}
	}
}

// withdraw is what becomes of the request when a signal ends the wait: without a
// key nobody could ever take it up again, so it is cancelled.
func (g *gate) withdraw(ctx context.Context, cause signalled) error {
	code := signalCode(cause.signal)
	if g.key != "" {
		g.console.say("stopped waiting; the request stays open. The same command with --key %s takes it up again.", quoteArgument(g.key))
		return exitWith(code)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := g.CancelRun(ctx, g.params.RunID, "withdrawn by "+g.actor())
	switch {
	case errors.Is(err, client.ErrNotFound):
		return exitWith(code) // nothing had been asked yet
	case err != nil:
		return failed(code, "stopped waiting, but the request could not be withdrawn: %w", err)
	}
	g.console.say("stopped waiting; the request was withdrawn.")
	return exitWith(code)
}

// outcomeOf returns the resolution of the run's last request from its events, for a
// run that ended by its decision (an expired or cancelled question).
func (g *gate) outcomeOf(ctx context.Context) (api.Resolution, error) {
	var last api.Resolution
	for entry, err := range g.AllRunEvents(ctx, g.params.RunID, client.EventListParams{}) {
		if err != nil {
			return last, g.reached(err)
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

func (g *gate) once(what string, tell func()) {
	if g.told == nil {
		g.told = map[string]bool{}
	}
	if !g.told[what] {
		g.told[what] = true
		tell()
	}
}

func (g *gate) tellWaiting(view *api.RunView) {
	for _, request := range view.PendingApprovals {
		g.once(request.ID, func() {
			g.console.say("waiting for approval %s of run %s: %s", request.ID, view.RunID, printable(commandOf(request.Input), false))
			g.console.say("decide with: holdpoint approvals allow%s %s (or deny)", g.serverFlag(), request.ID)
		})
	}
	for _, request := range view.PendingQuestions {
		g.once(request.ID, func() {
			g.console.say("waiting for an answer to %s of run %s", request.ID, view.RunID)
			g.console.say("answer with: holdpoint questions answer%s %s --interactive", g.serverFlag(), request.ID)
		})
	}
}

func (g *gate) tellHeld(view *api.RunView) {
	switch {
	case view.Status == api.StatusQueued:
		g.once("queued", func() {
			g.console.say("run %s waits for its turn: session %s has another run", view.RunID, view.SessionID)
		})
	case view.Lease != nil:
		g.once("held by "+view.Lease.WorkerID, func() {
			g.console.say("run %s is in the hands of %s; waiting until that one has ended it or has been silent for its lease",
				view.RunID, view.Lease.WorkerID)
		})
	}
}

func (g *gate) tellLost(err error) {
	if !g.lost && transient(err) {
		g.lost = true
		g.console.say("lost the service at %s; trying until it is back", g.Server)
	}
}

func (g *gate) tellBack() {
	if g.lost {
		g.lost = false
		g.console.say("the service is back")
	}
}

// transient reports whether a failure may go away by itself.
func transient(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrRateLimited)
}

// workerID names this process in a lease.
func workerID(noun string) string {
	host, err := os.Hostname()
	if err != nil || !refusal.ValidID(host) {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%.100s:%d", noun, host, os.Getpid())
}
