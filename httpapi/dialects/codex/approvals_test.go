package codex_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs/reads"
)

func testApprovals(t *testing.T, service, other *replica) {
	// The table of docs/spec/codex.md#approval-decision.
	for _, c := range []struct {
		method, decision, scope string
		outcome, word           string
	}{
		{"item/commandExecution/requestApproval", "accept", "", "allowed", "accept"},
		{"item/commandExecution/requestApproval", "accept", "turn", "allowed", "accept"},
		{"item/commandExecution/requestApproval", "accept", "session", "allowed", "acceptForSession"},
		{"item/fileChange/requestApproval", "accept", "session", "allowed", "acceptForSession"},
		{"item/fileChange/requestApproval", "decline", "", "denied", "decline"},
		{"item/commandExecution/requestApproval", "decline", "session", "denied", "decline"},
		{"execCommandApproval", "accept", "", "allowed", "approved"},
		{"applyPatchApproval", "accept", "session", "allowed", "approved_for_session"},
		{"execCommandApproval", "decline", "turn", "denied", "denied"},
		{"applyPatchApproval", "decline", "session", "denied", "denied"},
		{"no/such/method", "accept", "session", "allowed", "acceptForSession"},
	} {
		t.Run(c.method+" "+c.decision+" "+c.scope, func(t *testing.T) {
			r := service.waiting(t, approvals(approval("a1", fmt.Sprintf(`"metadata":{"method":%q}`, c.method))))
			approvalID := service.approvalID(t, r)
			scope := ""
			if c.scope != "" {
				scope = fmt.Sprintf(`,"scope":%q`, c.scope)
			}
			service.decide(t, approvalID, fmt.Sprintf(`{"decision":%q%s}`, c.decision, scope), dialecttest.Header("X-Actor", "mia")).
				Is(http.StatusOK, fmt.Sprintf(`{"status":"ok","approvalId":%q,"threadId":%q}`, approvalID, r.session))
			resolution := service.resolution(t, r, "approvals")
			require.Equal(t, c.outcome, resolution["outcome"])
			require.Equal(t, "codex", resolution["via"])
			require.Equal(t, "mia", resolution["resolved_by"])
			require.Equal(t, fmt.Sprintf(`{"decision":%q}`, c.word), payload(t, resolution))
			require.Equal(t, c.decision == "accept" && c.scope == "session", resolution["rule"] != nil)
		})
	}

	for _, c := range []struct{ method, word string }{
		{"item/commandExecution/requestApproval", "cancel"},
		{"item/fileChange/requestApproval", "cancel"},
		{"execCommandApproval", "abort"},
		{"applyPatchApproval", "abort"},
	} {
		t.Run(c.method+" cancel", func(t *testing.T) {
			r := service.waiting(t, approvals(approval("a1", fmt.Sprintf(`"metadata":{"method":%q}`, c.method)), approval("a2", "")))
			shown := service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK)
			service.decide(t, shown.TextAt("data", 0, "approvalId"), `{"decision":"cancel"}`).Want(http.StatusOK)
			require.Equal(t, "cancelled", service.get(t, "/v1/runs/"+r.id).At("status"))
			_, settled, err := service.Store.SettledAfter(t.Context(), r.id, 0)
			require.NoError(t, err)
			require.Len(t, settled, 2)
			for i := range settled {
				recorded := settled[i].Recorded()
				require.Equal(t, api.OutcomeCancelled, recorded.Outcome)
				if settled[i].RequestID == "a1" {
					require.Equal(t, fmt.Sprintf(`{"decision":%q}`, c.word), string(recorded.RuntimePayload))
				} else {
					require.Nil(t, recorded.RuntimePayload)
				}
			}
			service.decide(t, shown.TextAt("data", 1, "approvalId"), `{"decision":"accept"}`).Want(http.StatusNotFound)
		})
	}

	t.Run("a decision for the session holds for the same call", func(t *testing.T) {
		r := service.attached(t, approvals(approval("a1", "")))
		service.decide(t, service.approvalID(t, r), `{"decision":"accept","scope":"session"}`).Want(http.StatusOK)
		service.post(t, "/v1/runs/"+r.id+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,%s}`, r.fence, approvals(approval("a2", "")))).Want(http.StatusOK)
		service.get(t, "/api/sessions/"+r.session+"/approvals").Is(http.StatusOK, `{"data":[]}`)
		service.post(t, "/v1/runs/"+r.id+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,%s}`, r.fence,
			approvals(approval("a3", `"input":{"command":"npm test; rm -rf ."}`)))).Want(http.StatusOK)
		require.Equal(t, "call-a3", service.get(t, "/api/sessions/"+r.session+"/approvals").At("data", 0, "itemId"))
	})

	t.Run("the rule of a session holds no longer than rules may", func(t *testing.T) {
		strict := serve(t, service.Store, func(o *httpapi.Options) { o.MaxRuleAge = time.Minute })
		r := service.waiting(t, approvals(approval("a1", "")))
		strict.decide(t, service.approvalID(t, r), `{"decision":"accept","scope":"session"}`).Want(http.StatusOK)
		rules, err := service.Store.Rules(t.Context(), reads.RuleQuery{SessionID: r.session, Limit: 10})
		require.NoError(t, err)
		require.Len(t, rules, 1)
		require.Equal(t, time.Minute.Milliseconds(), rules[0].Rule.ExpiresAtMs-rules[0].Rule.CreatedAtMs)
	})

	t.Run("members that nobody knows do not matter", func(t *testing.T) {
		r := service.waiting(t, approvals(approval("a1", "")))
		other.decide(t, service.approvalID(t, r), `{"decision":"decline","note":{"a":1}}`).Want(http.StatusOK)
		require.Equal(t, "denied", service.resolution(t, r, "approvals")["outcome"])
	})
}
