package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// viewing reads frames until one says who has which requests open.
func (r *reader) viewing() []api.ViewedRequest {
	r.t.Helper()
	for {
		one := r.event()
		if one.name != "viewing" {
			continue
		}
		var view api.ViewingView
		require.NoError(r.t, json.Unmarshal([]byte(one.data), &view))
		return view.Requests
	}
}

// testViewing checks that deciders see who else has a request open, and nobody sees more than their scope.
func testViewing(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	as := func(principal string, body api.CreateTokenBody) option {
		body.Name, body.Principal = "views-"+strings.ReplaceAll(principal, ":", "-"), principal
		_, secret := token(t, keyring, body)
		return bearer(secret)
	}
	ada, ben := as("user:ada.views", api.CreateTokenBody{Role: api.RoleOperator}), as("user:ben.views", api.CreateTokenBody{Role: api.RoleOperator})
	elsewhere := as("user:elsewhere.views", api.CreateTokenBody{Role: api.RoleOperator, SessionPrefixes: []string{"views-2"}})
	observer, agent := as("user:sees.views", api.CreateTokenBody{Role: api.RoleObserver}), as("agent:views", api.CreateTokenBody{Role: api.RoleAgent})
	var handles []string
	for n := 1; n <= 2; n++ {
		made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":"views-%d","run_id":"views-run-%d","input":1,"suspend":{"approvals":[
			{"id":"a","tool_call_id":"a","tool_name":"deploy","input":1}]}}`, n, n), agent).want(http.StatusAccepted)
		handles = append(handles, made.textAt("pending_approvals", 0, "handle"))
	}
	present := func(body string, options ...option) *reply {
		return a.do(t, http.MethodPut, "/v1/me/presence", body, options...)
	}
	opens := func(who option, handle string) {
		t.Helper()
		present(fmt.Sprintf(`{"visible":true,"viewing":%q}`, handle), who).want(http.StatusNoContent)
	}
	present(`{"visible":true,"viewing":"nothing"}`, ada).refused(api.CodeRequestNotFound)
	present(`{"visible":true,"viewing":"%00"}`, ada, unchecked()).refused(api.CodeRequestNotFound)
	present(`{"visible":true,"viewing":1}`, ada, unchecked()).refused(api.CodeInvalidRequest).pointer("/viewing")
	present(fmt.Sprintf(`{"visible":true,"viewing":%q}`, handles[0]), elsewhere).refused(api.CodeRequestNotFound)
	present(`{"visible":true}`, observer).refused(api.CodeForbidden)
	present(`{"visible":true}`, agent).refused(api.CodeForbidden)

	const path = "/v1/stream?viewing=true"
	a.get(t, "/v1/stream?viewing=yes", ada, unchecked()).refused(api.CodeBadRequest)
	bens, bound := a.follow(t, path, ben), a.follow(t, path, elsewhere)
	plain, seen, own := a.follow(t, "/v1/stream", ben), a.follow(t, path, observer), a.follow(t, path, agent)
	opens(ada, handles[0])
	require.Equal(t, []api.ViewedRequest{{Handle: handles[0], Viewing: []string{"user:ada.views"}}}, bens.viewing())
	opens(ada, handles[1])
	second := []api.ViewedRequest{{Handle: handles[1], Viewing: []string{"user:ada.views"}}}
	require.Equal(t, second, bens.viewing(), "one at a time")
	require.Equal(t, second, bound.viewing(), "the first request is none of theirs")
	adas := a.follow(t, path, ada)
	opens(ben, handles[1])
	require.Equal(t, []api.ViewedRequest{{Handle: handles[1], Viewing: []string{"user:ben.views"}}}, adas.viewing(), "without oneself")
	both := []api.ViewedRequest{{Handle: handles[1], Viewing: []string{"user:ada.views", "user:ben.views"}}}
	require.Equal(t, both, bound.viewing())
	late := a.follow(t, path, elsewhere)
	require.Equal(t, both, late.viewing(), "also what is not new")

	// Neither leaving nor an empty handle leaves anybody there, nor does a settled request.
	present(`{"visible":false}`, ada).want(http.StatusNoContent)
	require.Empty(t, bens.viewing())
	present(`{"visible":true,"viewing":""}`, ben).want(http.StatusNoContent)
	require.Empty(t, adas.viewing())
	a.post(t, "/v1/runs/views-run-1/approvals", allow("a"), ben).want(http.StatusAccepted)
	opens(ada, handles[0])
	opens(ben, handles[1])
	require.Equal(t, []api.ViewedRequest{{Handle: handles[1], Viewing: []string{"user:ben.views"}}}, adas.viewing())
	a.post(t, "/v1/runs/views-run-2/cancel", `{}`, ben).want(http.StatusOK)

	// The others are told of the requests alone.
	for _, stream := range []*reader{plain, seen, own} {
		for settled := newPrompts(); settled.events["approval_resolved"] < 2; {
			one := stream.next()
			require.NotEqual(t, "viewing", one.name)
			require.NoError(t, settled.apply(one))
		}
	}
}
