package mcptools

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// lostPause is how long a lost decision may take to be on record, and the pause between two reads in an outage.
const lostPause = time.Second

// dialog shows forms and links while the call is held, for clients of an earlier revision. A client
// that was handed a link is told when somebody has decided. When a decision is
// refused, the returned context ends with the reason as its cause.
func (t *tools) dialog(ctx context.Context, session *mcp.ServerSession, run *api.RunView, forms mcp.InputRequestMap) (awaiting context.Context, stop func(decided bool)) {
	asking, end := context.WithCancel(ctx)
	awaiting, refuse := context.WithCancelCause(ctx)
	var dialogs sync.WaitGroup
	var over atomic.Bool
	for handle, request := range forms {
		dialogs.Go(func() {
			params, _ := request.(*mcp.ElicitParams)
			if isForm(params) {
				if err := t.fillIn(asking, session, run, handle, params); err != nil && asking.Err() == nil {
					refuse(&refusedError{run.RunID, err})
				}
				return
			}
			// The decision may be faster than the answer that the link was opened.
			if _, err := elicit(asking, session, params); err != nil && asking.Err() == nil {
				return // others can still decide
			}
			<-asking.Done()
			if !over.Load() {
				return
			}
			telling, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
			defer cancel()
			// A client that has gone need not know.
			_ = session.NotifyElicitationComplete(telling, &mcp.ElicitationCompleteParams{ElicitationID: params.ElicitationID})
		})
	}
	return awaiting, func(decided bool) {
		over.Store(decided)
		end()
		dialogs.Wait()
		refuse(nil)
	}
}

// fillIn shows the form of a request and records the decision. It shows the form again if the decision was lost. Errors:
// why the decision was refused.
func (t *tools) fillIn(ctx context.Context, session *mcp.ServerSession, run *api.RunView, handle string, params *mcp.ElicitParams) error {
	for {
		answer, err := elicit(ctx, session, params)
		if err != nil {
			return nil //nolint:nilerr // others can still decide
		}
		form, err := filled(answer)
		if err != nil {
			return err
		}
		lost, err := t.waits.decide(ctx, run, map[string]*filledForm{handle: form})
		if !lost {
			return err
		}
		if !t.stillOpen(ctx, run.RunID, handle) {
			return nil // the wait reads what is on record
		}
	}
}

// stillOpen reports whether a request is open after a lost decision, which may still be on its way. It returns once the
// service replies, so that a client that answers by itself is not asked all the time during an outage.
func (t *tools) stillOpen(ctx context.Context, runID, handle string) bool {
	for {
		run, err := t.Client.AwaitRun(ctx, runID, client.UntilDecided, lostPause)
		switch {
		case err == nil:
			return slices.ContainsFunc(run.PendingApprovals, func(open api.ApprovalRequest) bool { return open.Handle == handle }) ||
				slices.ContainsFunc(run.PendingQuestions, func(open api.UserQuestionRequest) bool { return open.Handle == handle })
		case !client.Away(err):
			return false // the wait says why
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(lostPause):
		}
	}
}

// clientAnswer is the key of a context for the answer of a client to a dialog, of type *mcp.ElicitResult.
type clientAnswer struct{}

// elicit shows one form or link and returns what the client answered. The library of the protocol adds the schema's
// defaults to an accepted form, which the person may have left empty on purpose, and drops a form that does not fit its
// own reading of the schema: the service checks the answer.
func elicit(ctx context.Context, session *mcp.ServerSession, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	var given mcp.ElicitResult
	answer, err := session.Elicit(context.WithValue(ctx, clientAnswer{}, &given), params)
	if given.Action != "" {
		return &given, nil
	}
	return answer, err
}

// keepAnswers keeps a copy of the answers to [elicit] before the library of the protocol changes them.
func keepAnswers(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		given, keeps := ctx.Value(clientAnswer{}).(*mcp.ElicitResult)
		if answer, is := result.(*mcp.ElicitResult); keeps && is && err == nil {
			*given = *answer
			given.Content = maps.Clone(answer.Content)
		}
		return result, err
	}
}
