package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// testRequesters checks who may allow an approval that excludes its requester.
func testRequesters(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	made := 0
	as := func(principal string, role api.Role) option {
		made++
		_, secret := token(t, keyring, api.CreateTokenBody{Name: fmt.Sprint("four-eyes-", made), Role: role, Principal: principal, MayActFor: true})
		return bearer(secret)
	}
	excluding := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"tool_call_id":%q,"tool_name":"deploy","input":{"to":%q},"pattern_keys":["deploy"],"exclude_requester":true}`, id, id, id)
	}
	admin := as("user:root", api.RoleAdmin)
	maker, makerDecides := as("agent:maker", api.RoleAgent), as("agent:maker", api.RoleOperator)
	other := as("user:other", api.RoleOperator)
	raise := func(session, run string, options ...option) {
		a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"run_id":%q,"input":1,"claim":{"worker_id":"w"},"suspend":{"hold":true,"approvals":[%s,%s,%s]}}`,
			session, run, excluding("a"), excluding("b"), approval("plain")), options...).want(http.StatusAccepted)
	}
	allowed := func(run, id string, options ...option) *reply {
		return a.post(t, "/v1/runs/"+run+"/approvals", allow(id), options...)
	}
	open := func(run string, want int) {
		t.Helper()
		require.Len(t, a.get(t, "/v1/runs/"+run, admin).want(http.StatusOK).list("pending_approvals"), want)
	}

	// What a list and the snapshot of a stream say of the approvals of a run, as one character each.
	listed := func(run string, options ...option) string {
		t.Helper()
		said := func(items []any) (said string) {
			signs := map[any]string{true: "+", false: "-", nil: "?"}
			for _, item := range items {
				if item := item.(map[string]any); item["run_id"] == run {
					said += signs[item["may_decide"]]
				}
			}
			return said
		}
		list, streamed := said(a.get(t, "/v1/approvals?page=true&limit=100", options...).want(http.StatusOK).list("items")), ""
		for streamed == "" { // a snapshot that was begun for an earlier reader may be from before the run
			frame := a.follow(t, "/v1/stream?fields=summary", options...).next()
			view := &reply{t: t, text: frame.data}
			require.NoError(t, json.Unmarshal([]byte(frame.data), &view.body))
			streamed = said(view.list("pending_approvals"))
		}
		require.Equal(t, list, streamed)
		return list
	}
	// The creator of the run cannot allow: alone, in a batch, on the session's route, or
	// remembered. They may deny.
	raise("fe-1", "fe-run-1", maker)
	require.Equal(t, true, a.get(t, "/v1/runs/fe-run-1", admin).at("pending_approvals", 0, "exclude_requester"))
	allowed("fe-run-1", "a", makerDecides).refused(api.CodeRequesterExcluded)
	shown := func(options ...option) *reply {
		return a.get(t, "/v1/requests/"+a.get(t, "/v1/runs/fe-run-1", admin).textAt("pending_approvals", 0, "handle"), options...).want(http.StatusOK)
	}
	require.Equal(t, "request a excludes its requester, and agent:maker asked for it: somebody else must allow it", shown(makerDecides).at("requester_excluded", "detail"))
	for may, people := range map[bool][]option{true: {other, admin}, false: {as("user:watches", api.RoleObserver)}} {
		for _, by := range people {
			require.NotContains(t, shown(by).text, "requester_excluded")
			require.Equal(t, may, shown(by).at("may_decide"))
		}
	}
	require.Equal(t, false, shown(makerDecides).at("may_decide"))
	require.Contains(t, shown(admin, header("X-Actor", "agent:maker")).text, "requester_excluded")
	for _, one := range []struct {
		want    string
		options []option
	}{
		{"--+", []option{makerDecides}},
		{"+++", []option{other}},
		{"+++", []option{admin}},
		{"---", []option{as("user:looks", api.RoleObserver)}},
		{"---", []option{maker}},
		{"--+", []option{admin, header("X-Actor", "agent:maker")}},
		{"???", []option{admin, header("X-Actor", "agent:maker"), header("X-Via", "no via")}},
	} {
		require.Equal(t, one.want, listed("fe-run-1", one.options...))
	}
	noted := func(by option) any {
		return a.get(t, "/v1/sessions/fe-1/approvals", by).want(http.StatusOK).at(0, "explain", "text")
	}
	require.Equal(t, "You asked for it: someone else has to allow it.", noted(makerDecides))
	both := `{"resolutions":[{"request_id":"plain","behavior":"allow"},{"request_id":"a","behavior":"allow"}]}`
	a.post(t, "/v1/runs/fe-run-1/approvals", both, makerDecides).refused(api.CodeRequesterExcluded)
	a.post(t, "/v1/sessions/fe-1/approvals", both, makerDecides).refused(api.CodeRequesterExcluded)
	a.post(t, "/v1/runs/fe-run-1/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","remember":"session"}]}`, makerDecides).refused(api.CodeRequesterExcluded)
	allowed("fe-run-1", "a", makerDecides, header("X-Actor", "user:other")).refused(api.CodeRequesterExcluded)
	open("fe-run-1", 3)
	a.post(t, "/v1/runs/fe-run-1/approvals", `{"resolutions":[{"request_id":"b","behavior":"deny","remember":"session"}]}`, makerDecides).want(http.StatusAccepted)
	allowed("fe-run-1", "plain", makerDecides).want(http.StatusAccepted)
	allowed("fe-run-1", "a", other).want(http.StatusAccepted)
	raise("fe-cancel", "fe-run-cancel", maker)
	require.Less(t, a.post(t, "/v1/runs/fe-run-cancel/cancel", `{}`, makerDecides).status, 300)

	// An earlier lease holder, and the creator of an earlier run of the session.
	a.post(t, "/v1/runs", `{"session_id":"fe-2","run_id":"fe-early","agent_id":"fe","input":1}`, as("service:early", api.RoleAdmin)).want(http.StatusAccepted)
	take := func(by option) string {
		return a.post(t, "/v1/runs/fe-early/claim", `{"worker_id":"w"}`, by).want(http.StatusOK).textAt("lease", "fence")
	}
	a.post(t, "/v1/runs/fe-early/release", `{"fence":"`+take(as("agent:once", api.RoleAdmin))+`"}`, as("agent:once", api.RoleAdmin)).want(http.StatusOK)
	a.post(t, "/v1/runs/fe-early/complete", `{"fence":"`+take(admin)+`"}`, admin).want(http.StatusOK)
	raise("fe-2", "fe-run-2", as("agent:late", api.RoleAdmin))
	for _, principal := range []string{"service:early", "agent:once", "user:root", "agent:late"} {
		allowed("fe-run-2", "a", as(principal, api.RoleOperator)).refused(api.CodeRequesterExcluded)
	}
	early := a.get(t, "/v1/runs/fe-run-2", admin)
	allowed("fe-run-2", "a", other).want(http.StatusAccepted)
	for i, want := range []bool{false, true, false} { // a is settled, and plain excludes no one
		text := a.get(t, "/v1/requests/"+early.textAt("pending_approvals", i, "handle"), admin).want(http.StatusOK).text
		require.Equal(t, want, strings.Contains(text, `"requester_excluded"`), text)
		require.Equal(t, i > 0, strings.Contains(text, `"may_decide"`), text)
	}

	// A gateway, and for whom it acts.
	raise("fe-3", "fe-run-3", as("service:gateway", api.RoleAgent), header("X-Actor", "ann"))
	allowed("fe-run-3", "a", as("user:ann", api.RoleOperator)).refused(api.CodeRequesterExcluded)
	allowed("fe-run-3", "a", as("service:gateway", api.RoleOperator), header("X-Actor", "bob")).refused(api.CodeRequesterExcluded)
	second := as("service:second", api.RoleOperator)
	allowed("fe-run-3", "a", second, header("X-Actor", "ann")).refused(api.CodeRequesterExcluded)
	allowed("fe-run-3", "a", second, header("X-Actor", "bob")).want(http.StatusAccepted)

	// The sessions above are requesters, too.
	for child, parent := range map[string]string{"fe-kid": "fe-parent", "fe-parent": "fe-grandparent", "fe-grandparent": ""} {
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent), admin)
	}
	raise("fe-kid", "fe-run-kid", as("agent:kid", api.RoleAdmin))
	above := as("user:above", api.RoleAdmin)
	a.post(t, "/v1/runs", `{"session_id":"fe-grandparent","input":1}`, above).want(http.StatusAccepted)
	allowed("fe-run-kid", "a", as("user:above", api.RoleOperator)).refused(api.CodeRequesterExcluded)
	kid := a.get(t, "/v1/runs/fe-run-kid", admin).textAt("pending_approvals", 0, "handle")
	bounded, secret := token(t, keyring, api.CreateTokenBody{Name: "fe-bounded", Role: api.RoleOperator, Principal: "user:above", SessionPrefixes: []string{"fe-kid"}})
	require.NotEmpty(t, bounded)
	require.Contains(t, a.get(t, "/v1/requests/"+kid, bearer(secret)).want(http.StatusOK).text, "requester_excluded", "the sessions above it are out of the token's reach, and count")
	require.Equal(t, "--+", listed("fe-run-kid", bearer(secret)))
	a.post(t, "/v1/sessions/fe-kid/approvals", allow("a"), above).refused(api.CodeRequesterExcluded)
	allowed("fe-run-kid", "a", other).want(http.StatusAccepted)

	// Rules: an allow of theirs does not apply, a deny does, and another's allow does.
	rule := func(session, effect string, by option, more ...option) {
		a.post(t, "/v1/rules", fmt.Sprintf(`{"session_id":%q,"effect":%q,"match":{"pattern_keys":["deploy"]}}`, session, effect), append(more, by)...).want(http.StatusCreated)
	}
	rule("fe-4", "allow", makerDecides)
	raise("fe-4", "fe-run-4", maker)
	open("fe-run-4", 3)
	rule("fe-5", "allow", as("service:gateway", api.RoleOperator), header("X-Actor", "bob"))
	raise("fe-5", "fe-run-5", as("service:gateway", api.RoleAgent), header("X-Actor", "ann"))
	open("fe-run-5", 3)
	rule("fe-6", "allow", makerDecides)
	rule("fe-6", "allow", other)
	raise("fe-6", "fe-run-6", maker)
	open("fe-run-6", 1)
	rule("fe-7", "deny", makerDecides)
	rule("fe-7", "allow", other)
	raise("fe-7", "fe-run-7", maker)
	open("fe-run-7", 1)
	require.Contains(t, a.get(t, "/v1/decisions?session_id=fe-7", admin).want(http.StatusOK).text, `"denied"`)
}
