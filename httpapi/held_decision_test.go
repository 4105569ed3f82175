package httpapi_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// lateReplies is a store whose reply to a decision of the caller comes after the call has ended.
type lateReplies struct {
	runs.Store
	caller  string
	decided chan struct{}
}

func (l *lateReplies) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	reply, err := l.Store.Do(ctx, command)
	if caller := auth.From(ctx); err != nil || caller == nil || caller.Principal != l.caller {
		return reply, err
	}
	close(l.decided)
	<-ctx.Done()
	return runs.Reply{}, ctx.Err()
}

// A recorded decision is not answered as if its token had never worked.
func TestADecisionIsNotRefusedWithItsToken(t *testing.T) {
	t.Parallel()
	for engine, open := range openers {
		parallel(t, engine, func(t *testing.T) {
			store := open(t)
			keyring, late := newKeyring(store.(auth.Tokens), auth.Required), &lateReplies{Store: store, caller: "user:late", decided: make(chan struct{})}
			a := serve(t, late, newContract(t), func(o *httpapi.Options) { o.Keyring = keyring })
			_, admin := token(t, keyring, api.CreateTokenBody{Name: "admin", Role: api.RoleAdmin})
			for _, test := range []struct {
				principal string
				with      []option
				decided   func()
			}{
				{"user:held", []option{wait(60)}, func() {
					require.Eventually(t, func() bool { return a.handler.QuotaUse().Held == 1 }, patience, patienceStep)
				}},
				{late.caller, nil, func() { <-late.decided }},
			} {
				tokenID, secret := token(t, keyring, api.CreateTokenBody{Name: "decider", Role: api.RoleOperator, Principal: test.principal})
				session := a.post(t, "/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":{}}]}}`, bearer(admin)).
					want(http.StatusAccepted).textAt("session_id")
				decided := later(func() *reply {
					return a.post(t, "/v1/sessions/"+session+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow"}]}`, append(test.with, bearer(secret))...)
				})
				test.decided()
				a.do(t, http.MethodDelete, "/v1/tokens/"+tokenID, "", bearer(admin)).want(http.StatusNoContent)
				told := soon(t, decided).refused(wire.CodeServiceUnavailable)
				require.Contains(t, told.textAt("detail"), "may have taken effect")
				require.Empty(t, told.header.Get("WWW-Authenticate"))
				require.Equal(t, "allowed", a.get(t, "/v1/decisions?session_id="+session, bearer(admin)).want(http.StatusOK).textAt("items", 0, "recorded_decision", "outcome"))
			}
		})
	}
}
