package httpapi_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// viewer reads who has which requests open from a stream.
type viewer struct {
	*reader
	before []api.ViewedRequest
}

// sees reads frames until they say that these requests are open. A read that takes too long shows nobody for a moment,
// and then what was there before. Nothing else may be shown.
func (v *viewer) sees(wanted ...api.ViewedRequest) {
	v.t.Helper()
	for {
		one := v.event()
		if one.name != "viewing" {
			continue
		}
		var view api.ViewingView
		require.NoError(v.t, json.Unmarshal([]byte(one.data), &view))
		shown := append([]api.ViewedRequest(nil), view.Requests...) // nil for nobody
		if reflect.DeepEqual(shown, wanted) {
			v.before = wanted
			return
		}
		require.True(v.t, shown == nil || reflect.DeepEqual(shown, v.before), "wanted %v, but %v", wanted, shown)
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
	follow := func(who option) *viewer { return &viewer{reader: a.follow(t, path, who)} }
	by := func(handle string, people ...string) api.ViewedRequest {
		return api.ViewedRequest{Handle: handle, Viewing: people}
	}
	bens, bound := follow(ben), follow(elsewhere)
	plain, seen, own := a.follow(t, "/v1/stream", ben), a.follow(t, path, observer), a.follow(t, path, agent)
	opens(ada, handles[0])
	bens.sees(by(handles[0], "user:ada.views"))
	opens(ada, handles[1])
	bens.sees(by(handles[1], "user:ada.views"))
	bound.sees(by(handles[1], "user:ada.views")) // the first request is none of theirs
	adas := follow(ada)
	opens(ben, handles[1])
	adas.sees(by(handles[1], "user:ben.views")) // without oneself
	both := by(handles[1], "user:ada.views", "user:ben.views")
	bound.sees(both)
	follow(elsewhere).sees(both) // also what is not new

	// Neither leaving nor an empty handle leaves anybody there, nor does a settled request.
	present(`{"visible":false}`, ada).want(http.StatusNoContent)
	bens.sees()
	present(`{"visible":true,"viewing":""}`, ben).want(http.StatusNoContent)
	adas.sees()
	a.post(t, "/v1/runs/views-run-1/approvals", allow("a"), ben).want(http.StatusAccepted)
	opens(ada, handles[0])
	opens(ben, handles[1])
	adas.sees(by(handles[1], "user:ben.views"))
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
