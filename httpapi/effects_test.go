package httpapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

func testEffects(t *testing.T, a *rig) {
	parallel(t, "due deliveries are shown", func(t *testing.T) {
		parent := a.parent(t)
		child := a.child(t, parent)
		a.do(t, http.MethodPatch, "/v1/sessions/"+parent, `{"label":"Release"}`).want(http.StatusOK)
		a.do(t, http.MethodPatch, "/v1/sessions/"+child.session, `{"label":"Nightly build"}`).want(http.StatusOK)
		clarification := a.parked(t, child, "q1")
		a.post(t, "/v1/runs/"+clarification+"/cancel", "").want(http.StatusOK)
		a.keepsLease(t, child)
		of := "/v1/effects?session_id=" + parent
		a.eventually(t, "the answer is delivered", func() bool { return a.get(t, of).at(0, "state") == "done" })
		shown := a.get(t, of).want(http.StatusOK)
		require.Len(t, shown.list(), 1)
		require.Equal(t, []string{"agent_id", "attempts", "created_at_ms", "effect_id", "finished_at_ms", "kind", "run_id", "session", "session_id", "state", "target_agent_id", "target_session", "target_session_id"}, members(shown.at(0)))
		require.Equal(t, "deliver_answer:"+clarification, shown.at(0, "effect_id"))
		require.Equal(t, "deliver_answer", shown.at(0, "kind"))
		require.Equal(t, child.session, shown.at(0, "target_session_id"))
		require.Equal(t, "Release", shown.at(0, "session", "label"))
		require.Equal(t, "Nightly build", shown.at(0, "target_session", "label"))
		require.Equal(t, clarification, shown.at(0, "run_id"))
		retried := a.post(t, "/v1/sessions/"+parent+"/effects/"+shown.textAt(0, "effect_id")+"/retry", "").want(http.StatusOK)
		require.Equal(t, shown.at(0), retried.body, "what is done stays done")
		require.Equal(t, "open_clarification", a.get(t, "/v1/effects?session_id="+child.session).at(0, "kind"))
	})
	parallel(t, "what is not there", func(t *testing.T) {
		session := a.parent(t)
		a.post(t, "/v1/sessions/"+session+"/effects/e/retry", "{}").refused(api.CodeEffectNotFound)
		a.post(t, "/v1/sessions/"+session+"/effects/a%00b/retry", "", unchecked()).refused(api.CodeEffectNotFound)
		a.post(t, "/v1/sessions/nobody/effects/%00/retry", "", unchecked()).refused(api.CodeSessionNotFound)
	})
	parallel(t, "in pages", func(t *testing.T) {
		child := a.child(t, a.parent(t))
		var made []string
		for i := range 5 {
			asked := a.ask(t, child, question(fmt.Sprint("q", i)), "").want(http.StatusAccepted)
			made = append(made, "open_clarification:"+asked.textAt("clarification", "run_id"))
		}
		of := "/v1/effects?session_id=" + child.session
		a.eventually(t, "all are done", func() bool { return len(a.get(t, of+"&state=done").list()) == 5 })
		require.Equal(t, "[]", a.get(t, of+"&state=failed").want(http.StatusOK).text)
		for limit := 1; limit <= 6; limit++ {
			require.Equal(t, made, a.pages(t, of+"&", limit, "effect_id"))
		}
		page := a.get(t, of+"&page=true&limit=2").want(http.StatusOK)
		require.Equal(t, 5.0, page.at("pagination", "total_count"))
		require.Equal(t, "created_at_ms_asc,effect_id_asc", page.at("pagination", "order"))
		require.Len(t, a.get(t, of+"&limit=2").want(http.StatusOK).list(), 2)
		require.Equal(t, made[0], a.get(t, of+"&limit=2").textAt(0, "effect_id"), "the first ones")
	})
}

// TestAnOperatorRetriesWhatWasGivenUp runs without the effects loop, so that the test decides when
// the effect runs.
func TestAnOperatorRetriesWhatWasGivenUp(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		a := serve(t, store, newContract(t))
		child := a.child(t, a.parent(t))
		clarification := a.parked(t, child, "q1")
		parent := a.get(t, "/v1/runs/"+clarification).textAt("session_id")
		a.post(t, "/v1/runs/"+clarification+"/questions", answer("q1", `"declined":true`)).want(http.StatusAccepted)
		effect := "deliver_answer:" + clarification
		pending := a.get(t, "/v1/effects?state=pending&session_id="+parent).want(http.StatusOK)
		require.Equal(t, effect, pending.at(0, "effect_id"))
		require.Equal(t, 0.0, pending.at(0, "attempts"))
		require.Equal(t, pending.at(0, "created_at_ms"), pending.at(0, "due_at_ms"))
		require.Equal(t, "waiting_for_user_question", a.get(t, "/v1/runs/"+child.run).at("status"))

		claimed, err := a.store.Do(t.Context(), &runs.ClaimEffect{SessionID: parent, EffectID: effect})
		require.NoError(t, err)
		_, err = a.store.Do(t.Context(), &runs.FinishEffect{
			SessionID: parent, EffectID: effect, Attempt: claimed.Effect.Attempts, Error: "out of luck", Permanent: true,
		})
		require.NoError(t, err)
		failed := a.get(t, "/v1/effects?state=failed&page=true").want(http.StatusOK)
		require.Equal(t, 1.0, failed.at("pagination", "total_count"))
		require.Equal(t, "out of luck", failed.at("items", 0, "last_error"))
		require.Nil(t, failed.at("items", 0, "due_at_ms"))

		nameless := serve(t, &namelessStore{a.store}, a.contract)
		unnamed := nameless.post(t, "/v1/sessions/"+parent+"/effects/"+effect+"/retry", "").want(http.StatusOK)
		require.Equal(t, "pending", unnamed.at("state"), "it is due, whatever a read after the commit says")
		retried := a.post(t, "/v1/sessions/"+parent+"/effects/"+effect+"/retry", "").want(http.StatusOK)
		require.Equal(t, "pending", retried.at("state"))
		require.Equal(t, "out of luck", retried.at("last_error"))
		require.NotNil(t, retried.at("due_at_ms"))
		require.Nil(t, retried.at("finished_at_ms"))
		result, err := loop.NewEffects(a.store, loop.EffectsOptions{Logger: slog.New(slog.DiscardHandler)}).RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, loop.EffectsResult{Done: 2}, result)
		require.Equal(t, "done", a.get(t, "/v1/effects?session_id="+parent).at(0, "state"))
		require.Equal(t, declinedAnswer(nil), a.keepsLease(t, child).at("resume", "clarification"))
	})
}

// The reason of a failed delivery names addresses of the service's network. Lists and explanations show it to
// admins alone.
func TestAnAgentIsNotToldWhyADeliveryFailed(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t))
	clarification := a.parked(t, a.child(t, a.parent(t)), "q1")
	parent := a.get(t, "/v1/runs/"+clarification).textAt("session_id")
	a.post(t, "/v1/runs/"+clarification+"/questions", answer("q1", `"declined":true`)).want(http.StatusAccepted)
	effect, reason := "deliver_answer:"+clarification, "dial tcp 10.0.0.7:5432"
	claimed, err := a.store.Do(t.Context(), &runs.ClaimEffect{SessionID: parent, EffectID: effect})
	require.NoError(t, err)
	_, err = a.store.Do(t.Context(), &runs.FinishEffect{
		SessionID: parent, EffectID: effect, Attempt: claimed.Effect.Attempts, Error: reason, Permanent: true,
	})
	require.NoError(t, err)

	keyring := newKeyring(a.store.(auth.Tokens), auth.Required)
	closed := serve(t, a.store, a.contract, func(o *httpapi.Options) { o.Keyring = keyring })
	for _, role := range auth.Roles {
		of := api.CreateTokenBody{Name: string(role), Role: role}
		if role == api.RoleAgent {
			of.AgentIDs = []string{"coder"} // the parent's
		}
		_, secret := token(t, keyring, of)
		as := bearer(secret)
		for _, path := range []string{"/v1/effects?state=failed", "/v1/runs/" + clarification + "/explain"} {
			shown := closed.get(t, path, as).want(http.StatusOK)
			require.Contains(t, shown.text, effect)
			require.Equal(t, role == api.RoleAdmin, strings.Contains(shown.text, reason), "%s of %s: %s", path, role, shown.text)
		}
	}
}

// namelessStore cannot read the names of sessions.
type namelessStore struct{ runs.Store }

func (s *namelessStore) Within(scope reads.Scope) reads.Reader {
	return namelessReader{s.Store.Within(scope)}
}

type namelessReader struct{ reads.Reader }

func (namelessReader) SessionNames(context.Context, []string) (map[string]model.SessionName, error) {
	return nil, runs.ErrUnavailable
}
