package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// testFull has its own service, because its rows would fill the lists of all sessions. It runs no
// effects.
func testFull(t *testing.T, store runs.Store, contract *contract) {
	a := serve(t, store, contract)
	do := func(command runs.Command) {
		t.Helper()
		_, err := store.Do(t.Context(), command)
		require.NoError(t, err)
	}
	asked := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"tool_call_id":"c","questions":[{"id":"q","header":"h","question":%q,"options":[{"id":"a","label":"a"}]}]}`, id, strings.Repeat("x", 10_000))
	}
	parent := a.parent(t)
	child := a.child(t, parent)
	do(&runs.OpenClarification{SessionID: parent, RunID: "large", Request: api.UserQuestionRequest{
		ID: "large", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "q", Question: strings.Repeat("x", api.MaxClarificationBytes/2-2_000)}},
	}})
	for range 2 {
		full := a.ask(t, child, asked("which"), "").refused(api.CodeQuestionsFull)
		require.Equal(t, http.StatusTooManyRequests, full.status)
		require.Equal(t, "1", full.header.Get("Retry-After"))
	}
	a.post(t, "/v1/sessions/"+parent+"/interrupt", `{}`).want(http.StatusOK)
	opened := a.ask(t, child, asked("which"), "").want(http.StatusOK)
	require.Equal(t, "waiting_for_user_question", opened.at("clarification", "status"), "there is room, and the call is repeated")

	do(&runs.DeliverAnswer{
		SessionID: child.session, RunID: child.run, RequestID: "large",
		Message: api.JSON(`"` + strings.Repeat("x", api.MaxMessageBytes-2) + `"`), Resolution: api.JSON(`{}`),
	})
	a.ask(t, child, asked("next"), "").refused(api.CodeMailboxFull)
	a.ask(t, child, asked("which"), "").want(http.StatusOK)
	a.post(t, "/v1/sessions/"+child.session+"/mailbox/"+model.MessageIDOf("large")+"/ack", "").want(http.StatusOK)
	a.ask(t, child, asked("next"), "").want(http.StatusAccepted)
}
