package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// A recorded decision is not answered as if its token had never worked.
func TestAHeldDecisionIsNotRefusedWithItsToken(t *testing.T) {
	t.Parallel()
	for engine, open := range openers {
		parallel(t, engine, func(t *testing.T) {
			a, keyring := closed(t, open(t), newContract(t))
			_, admin := token(t, keyring, api.CreateTokenBody{Name: "admin", Role: api.RoleAdmin})
			tokenID, secret := token(t, keyring, api.CreateTokenBody{Name: "decider", Role: api.RoleOperator})
			session := a.post(t, "/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":{}}]}}`, bearer(admin)).
				want(http.StatusAccepted).textAt("session_id")
			decided := later(func() *reply {
				return a.post(t, "/v1/sessions/"+session+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow"}]}`, bearer(secret), wait(60))
			})
			require.Eventually(t, func() bool { return a.handler.QuotaUse().Held == 1 }, patience, patienceStep)
			a.do(t, http.MethodDelete, "/v1/tokens/"+tokenID, "", bearer(admin)).want(http.StatusNoContent)
			told := soon(t, decided).refused(wire.CodeServiceUnavailable)
			require.Contains(t, told.textAt("detail"), "has taken effect")
			require.Equal(t, "allowed", a.get(t, "/v1/decisions?session_id="+session, bearer(admin)).want(http.StatusOK).textAt("items", 0, "recorded_decision", "outcome"))
		})
	}
}
