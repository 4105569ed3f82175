package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

// ofSession is the flag of lists that can be limited to a session.
type ofSession struct {
	SessionID string `name:"session-id" aliases:"session" placeholder:"ID" help:"Only requests of this session; lists and reviews include its child sessions."`
}

// pendingRef locates an open request whose id alone is ambiguous.
type pendingRef struct {
	SessionID string `name:"session-id" aliases:"session" placeholder:"ID" help:"Session of the request."`
	RunID     string `name:"run-id" placeholder:"ID" help:"Run of the request."`
}

// requestRef names one open request.
type requestRef struct {
	pendingRef
	RequestID string `arg:"" name:"request-id" help:"Request handle as printed by list, or request id."`
}

// errNotOpen means that no open request has the id.
var errNotOpen = errors.New("no open request")

// notOpenError is an errNotOpen with a message of its own.
type notOpenError struct{ message string }

func (e notOpenError) Error() string { return e.message }

func (notOpenError) Is(target error) bool { return target == errNotOpen }

// requirePair refuses a run that does not belong to the given session.
func (p pendingRef) requirePair(ctx context.Context, c *client.Client) error {
	if p.SessionID == "" || p.RunID == "" {
		return nil
	}
	run, err := c.GetRun(ctx, p.RunID)
	if err != nil {
		return err
	}
	if run.SessionID != p.SessionID {
		return console.Usage("run %s belongs to session %s, not %s", p.RunID, run.SessionID, p.SessionID)
	}
	return nil
}

// approval finds an open approval by its handle or id. See findPending.
func (p pendingRef) approval(ctx context.Context, c *client.Client, name string) (item *api.PendingApprovalView, byID bool, err error) {
	open := c.AllApprovals(ctx, client.PendingListParams{SessionID: p.SessionID})
	return findPending(ctx, p, c, "approval", name, open, func(item *api.PendingApprovalView) place {
		return place{item.SessionID, item.RunID, item.Request.ID, item.Request.Handle}
	})
}

// question finds an open question by its handle or id. See findPending.
func (p pendingRef) question(ctx context.Context, c *client.Client, name string) (item *api.PendingQuestionView, byID bool, err error) {
	open := c.AllQuestions(ctx, client.PendingListParams{SessionID: p.SessionID})
	return findPending(ctx, p, c, "question", name, open, func(item *api.PendingQuestionView) place {
		return place{item.SessionID, item.RunID, item.Request.ID, item.Request.Handle}
	})
}

// place identifies an open request.
type place struct{ sessionID, runID, requestID, handle string }

// candidates are the open requests that a name may mean.
type candidates[View any] struct {
	// last is the last one in the given session and run.
	last            *View
	here, elsewhere int
}

// findPending finds the only open request with a handle, short handle or id, in the given
// session and run. A handle wins over ids. byID reports that only the id matched. Errors:
// errNotOpen if there is none; a usage error if there are several, or if the run is not in
// the session.
func findPending[View any](
	ctx context.Context, p pendingRef, c *client.Client, noun, name string,
	open iter.Seq2[View, error], placeOf func(*View) place,
) (found *View, byID bool, err error) {
	if err := p.requirePair(ctx, c); err != nil {
		return nil, false, err
	}
	var ofHandle, ofID candidates[View]
	for item, err := range open {
		if err != nil {
			return nil, false, err
		}
		at, matching := placeOf(&item), &ofID
		switch {
		case console.NamesHandle(name, at.handle):
			matching = &ofHandle
		case at.requestID != name:
			continue
		}
		if (p.SessionID == "" || p.SessionID == at.sessionID) && (p.RunID == "" || p.RunID == at.runID) {
			matching.last = &item
			matching.here++
		} else {
			matching.elsewhere++
		}
	}
	byID = ofHandle.here+ofHandle.elsewhere == 0
	matching := &ofHandle
	if byID {
		matching = &ofID
	}
	switch {
	case matching.here == 1:
		return matching.last, byID, nil
	case matching.here > 1 && byID:
		return nil, false, console.Usage("%d open %ss have the id %s; name one by its handle, as list prints it, or with --session-id or --run-id", matching.here, noun, name)
	case matching.here > 1:
		return nil, false, console.Usage("%d open %ss have handles that end with %s; give the whole handle, as show prints it", matching.here, noun, name)
	case matching.elsewhere > 0:
		return nil, false, notOpenError{fmt.Sprintf("no open %s %q in that session and run", noun, name)}
	default:
		return nil, false, notOpenError{fmt.Sprintf("no open %s %q", noun, name)}
	}
}

// confirmBareID shows a request named only by its id, and asks. Agents choose ids, and
// could put another request under an id after a person has read the list. Without a
// terminal nobody sees it, so there it is a usage error.
func confirmBareID(terminal *console.Console, shown, handle, question, otherwise string) error {
	if console.IsTerminal(terminal.Stdin) {
		return confirm(terminal, false, shown, question, "nothing was decided")
	}
	terminal.Say("%s", shown)
	return console.Usage("nothing was decided, because another request could get this id; to decide the one above, name it by its handle %s%s", console.ShortHandle(handle), otherwise)
}

// onRecord holds the flags of a decision for its reason and its idempotency key.
type onRecord struct {
	Justification  string `placeholder:"TEXT" help:"Reason to record."`
	IdempotencyKey string `name:"idempotency-key" placeholder:"KEY" help:"Makes retries safe: the same key never acts twice."`
}

// following holds the flags that wait for a run after a decision.
type following struct {
	Wait           bool  `help:"Wait until the run waits again or has ended; exit code 1 unless it completed."`
	PollIntervalMs int64 `name:"poll-interval-ms" default:"500" placeholder:"MS" help:"Polling interval of --wait (default ${default})."`
}

// maxOutage is how long --wait tolerates a service that does not answer.
const maxOutage = 15 * time.Second

// follow returns the run. With --wait it first polls until the run waits again or has
// ended.
func (f following) follow(ctx context.Context, c *client.Client, run *api.RunView) (*api.RunView, error) {
	if !f.Wait {
		return run, nil
	}
	interval := time.Duration(max(f.PollIntervalMs, 10)) * time.Millisecond
	var failingSince time.Time
	for !model.Terminal(run.Status) && !model.Waiting(run.Status) {
		if err := console.Sleep(ctx, interval); err != nil {
			return nil, err
		}
		next, err := c.GetRun(ctx, run.RunID)
		switch {
		case err == nil:
			run, failingSince = next, time.Time{}
		case !client.Away(err), !failingSince.IsZero() && time.Since(failingSince) > maxOutage:
			return nil, err
		case failingSince.IsZero():
			failingSince = time.Now()
		}
	}
	return run, nil
}

// exitCode returns the exit code of a command that waited for a run, as an error.
func (f following) exitCode(run *api.RunView) error {
	if f.Wait && model.Terminal(run.Status) && run.Status != api.StatusCompleted {
		return console.ExitWith(console.ExitError)
	}
	return nil
}

// finish follows the run of a decision, prints it, and returns the exit code as an error.
func (f following) finish(ctx context.Context, terminal *console.Console, asJSON bool, c *client.Client, requestID, what string, run *client.RunResult, about ...console.Field) error {
	followed, lost := f.follow(ctx, c, &run.RunView)
	if lost == nil {
		run.RunView = *followed
	}
	// The decision is made, even if the run could not be followed.
	if err := printDecided(terminal, asJSON, requestID, what, run, about); err != nil {
		return err
	}
	return cmp.Or(lost, f.exitCode(&run.RunView))
}

// printDecided prints the run after a decision, and the decided request.
func printDecided(terminal *console.Console, asJSON bool, requestID, what string, run *client.RunResult, about []console.Field) error {
	if asJSON {
		return console.PrintJSON(terminal.Stdout, run.RunView)
	}
	fields := append([]console.Field{{"request", requestID + " " + what}}, about...)
	fields = append(fields,
		console.Field{"rule", writtenRule(&run.RunView, requestID)},
		console.Field{"run", run.RunID},
		console.Field{"status", string(run.Status)},
	)
	if open := len(run.PendingApprovals) + len(run.PendingQuestions); open > 0 {
		fields = append(fields, console.Field{"still open", strconv.Itoa(open)})
	}
	if run.Replayed {
		fields = append(fields, console.Field{"note", "this key was used for the same call before; nothing changed"})
	}
	return terminal.Describe(fields)
}
