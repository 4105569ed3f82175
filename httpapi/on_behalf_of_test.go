package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// testOnBehalfOf checks what a token of a person records, and that the token and the person are one pair
// of eyes.
func testOnBehalfOf(t *testing.T, a *rig, keyring *auth.Keyring) {
	t.Helper()
	made := 0
	as := func(principal, person string, role api.Role) option {
		made++
		_, secret := token(t, keyring, api.CreateTokenBody{Name: fmt.Sprint("behalf-", made), Role: role, Principal: principal, OnBehalfOf: person})
		return bearer(secret)
	}
	admin := as("user:behalf-root", "", api.RoleAdmin)
	coder := as("agent:coder", "user:ada", api.RoleAgent)
	ada, phone := as("user:ada", "", api.RoleOperator), as("service:ada-phone", "user:ada", api.RoleOperator)
	ben := as("user:ben", "", api.RoleOperator)
	excluding := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"tool_call_id":%q,"tool_name":"deploy","input":{},"pattern_keys":["deploy"],"exclude_requester":true}`, id, id)
	}
	allowed := func(run string, options ...option) *reply {
		return a.post(t, "/v1/runs/"+run+"/approvals", allow("a"), options...)
	}
	raised := func(session, run string, options ...option) {
		t.Helper()
		a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"run_id":%q,"input":1,"suspend":{"approvals":[%s]}}`, session, run, excluding("a")), options...).want(http.StatusAccepted)
	}
	onlyBen := func(run string) {
		t.Helper()
		for _, same := range []option{ada, phone, as("agent:coder", "", api.RoleOperator), as("service:other", "user:ada", api.RoleOperator)} {
			allowed(run, same).refused(api.CodeRequesterExcluded)
		}
		allowed(run, ben).want(http.StatusAccepted)
	}

	// What the caller is told, and what is recorded.
	require.Equal(t, "user:ada", a.get(t, "/v1/me", coder).want(http.StatusOK).at("on_behalf_of"))
	require.Nil(t, a.get(t, "/v1/me", ben).want(http.StatusOK).at("on_behalf_of"))
	listed := a.get(t, "/v1/tokens/"+a.get(t, "/v1/me", phone).textAt("token_id"), admin).want(http.StatusOK)
	require.Equal(t, "service:ada-phone", listed.at("principal"))
	require.Equal(t, "user:ada", listed.at("on_behalf_of"))
	a.post(t, "/v1/runs", `{"run_id":"behalf-named","input":1,"suspend":{"approvals":[`+approval("a")+`]}}`, admin).want(http.StatusAccepted)
	allowed("behalf-named", phone, header("X-Actor", "user:ben")).want(http.StatusAccepted)
	recorded := a.post(t, "/v1/runs/behalf-named/approvals", deny("a"), ben).refused(api.CodeApprovalStateConflict)
	require.Equal(t, "user:ada", recorded.at("recorded_decision", "resolved_by"))
	require.Equal(t, "service:ada-phone", recorded.at("recorded_decision", "via_principal"))
	a.post(t, "/v1/runs", `{"run_id":"behalf-asked","session_id":"behalf-asked","input":1,"suspend":{"questions":[`+question("q")+`]}}`, admin).want(http.StatusAccepted)
	a.post(t, "/v1/runs/behalf-asked/questions", answer("q", `"answers":`+goodAnswers), phone).want(http.StatusAccepted)
	answered := a.get(t, "/v1/decisions?session_id=behalf-asked", admin).want(http.StatusOK)
	require.Contains(t, answered.text, `"resolved_by":"user:ada"`)
	require.Contains(t, answered.text, `"via_principal":"service:ada-phone"`)

	// Who created the run; who claimed it, when it was there and while it waited for one; who raised a
	// request with the lease of another token of the same principal.
	raised("behalf-1", "behalf-created", coder)
	onlyBen("behalf-created")
	a.post(t, "/v1/runs", `{"session_id":"behalf-2","run_id":"behalf-claimed","agent_id":"behalf","input":1}`, admin).want(http.StatusAccepted)
	worker := as("agent:coder", "user:ada", api.RoleAdmin)
	fence := a.post(t, "/v1/runs/behalf-claimed/claim", `{"worker_id":"w"}`, worker).want(http.StatusOK).textAt("lease", "fence")
	a.post(t, "/v1/runs/behalf-claimed/suspend", fmt.Sprintf(`{"fence":%q,"suspension_id":"s","approvals":[%s]}`, fence, excluding("a")), worker).want(http.StatusOK)
	onlyBen("behalf-claimed")
	a.post(t, "/v1/runs", `{"session_id":"behalf-3","run_id":"behalf-shared","agent_id":"behalf","input":1}`, admin).want(http.StatusAccepted)
	unnamed := as("agent:coder", "", api.RoleAdmin)
	fence = a.post(t, "/v1/runs/behalf-shared/claim", `{"worker_id":"w"}`, unnamed).want(http.StatusOK).textAt("lease", "fence")
	a.post(t, "/v1/runs/behalf-shared/suspend", fmt.Sprintf(`{"fence":%q,"suspension_id":"s","approvals":[%s]}`, fence, excluding("a")), worker).want(http.StatusOK)
	onlyBen("behalf-shared")

	// The person asked: none of their tokens allows. Nor does an allow rule that one of them wrote.
	raised("behalf-4", "behalf-person", as("user:ada", "", api.RoleAdmin))
	allowed("behalf-person", phone).refused(api.CodeRequesterExcluded)
	handle := a.get(t, "/v1/runs/behalf-person", admin).textAt("pending_approvals", 0, "handle")
	require.Contains(t, a.get(t, "/v1/requests/"+handle, phone).want(http.StatusOK).text, "requester_excluded")
	may := a.get(t, "/v1/requests/"+handle+"/explain", admin).want(http.StatusOK).text
	require.NotContains(t, may, "service:ada-phone")
	require.Contains(t, may, "user:ben")
	a.post(t, "/v1/rules", `{"session_id":"behalf-5","effect":"allow","match":{"pattern_keys":["deploy"]}}`, phone).want(http.StatusCreated)
	raised("behalf-5", "behalf-rule", coder)
	onlyBen("behalf-rule")
}
