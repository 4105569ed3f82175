package mcptools

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

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
			answer, err := elicit(asking, session, params)
			// The decision may be faster than the answer that the link was opened.
			if err != nil && (isForm(params) || asking.Err() == nil) {
				return // others can still decide
			}
			if !isForm(params) {
				<-asking.Done()
				if !over.Load() {
					return
				}
				telling, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
				defer cancel()
				// A client that has gone need not know.
				_ = session.NotifyElicitationComplete(telling, &mcp.ElicitationCompleteParams{ElicitationID: params.ElicitationID})
				return
			}
			form, err := filled(answer)
			if err == nil {
				err = t.waits.decide(asking, run, map[string]*filledForm{handle: form})
			}
			if err != nil && !client.Away(err) && asking.Err() == nil { // after an outage the decision may be on record, and the wait reads it
				refuse(&refusedError{run.RunID, err})
			}
		})
	}
	return awaiting, func(decided bool) {
		over.Store(decided)
		end()
		dialogs.Wait()
		refuse(nil)
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
