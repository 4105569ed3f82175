package httpapi_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func testEvents(t *testing.T, a *rig) {
	types := func(r *reply) []string {
		names := []string{}
		for i := range r.list() {
			names = append(names, r.textAt(i, "event", "type"))
		}
		return names
	}
	parallel(t, "the log of a session, and of a run", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		a.post(t, "/v1/sessions/"+run.session+"/runs", `{"input":2}`).want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		log := a.get(t, "/v1/sessions/"+run.session+"/events").want(http.StatusOK)
		for i := range log.list() {
			require.Equal(t, strconv.Itoa(i+1), log.at(i, "id"), "numbered without gaps")
		}
		require.Equal(t, a.get(t, "/v1/sessions/"+run.session).at("last_event_id"), log.at(len(log.list())-1, "id"))
		require.Equal(t, []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "started"},
			types(a.get(t, "/v1/runs/"+run.run+"/events").want(http.StatusOK)))
		require.Len(t, a.get(t, "/v1/sessions/"+run.session+"/events?after=2&limit=3").list(), 3)
		require.Equal(t, "3", a.get(t, "/v1/runs/"+run.run+"/events?after=2").at(0, "id"))
		require.Equal(t, "[]", a.get(t, "/v1/sessions/"+run.session+"/events?after=9223372036854775807").want(http.StatusOK).text, "ahead of the log")
		require.Equal(t, "[]", a.get(t, "/v1/runs/"+run.run+"/events?after=1000").want(http.StatusOK).text)
	})
	parallel(t, "what cannot be read", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		for _, path := range []string{"/v1/sessions/" + run.session + "/events", "/v1/runs/" + run.run + "/events"} {
			for _, after := range []string{"", "x", "-1", "01", "1.0", "+1"} {
				a.get(t, path+"?after="+after, unchecked()).refused(api.CodeInvalidEventCursor)
			}
			a.get(t, path+"?after=9223372036854775808", expecting(semantic)).refused(api.CodeInvalidEventCursor)
			for _, limit := range []string{"0", "1001", "x"} {
				a.get(t, path+"?limit="+limit).refused(api.CodeInvalidLimit)
			}
		}
		a.get(t, "/v1/sessions/nobody/events").refused(api.CodeSessionNotFound)
		a.get(t, "/v1/sessions/%00/events").refused(api.CodeSessionNotFound)
		a.get(t, "/v1/runs/nobody/events").refused(api.CodeRunNotFound)
		a.get(t, "/v1/runs/%FF/events").refused(api.CodeRunNotFound)
	})
	parallel(t, "a session without runs has an empty log", func(t *testing.T) {
		made := a.post(t, "/v1/sessions", "").want(http.StatusCreated)
		require.Equal(t, "[]", a.get(t, fmt.Sprintf("/v1/sessions/%s/events", made.at("session_id"))).want(http.StatusOK).text)
	})
}
