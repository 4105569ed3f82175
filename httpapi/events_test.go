package httpapi_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/storetest"
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
		end := a.get(t, "/v1/sessions/"+run.session).textAt("last_event_id")
		require.Equal(t, "[]", a.get(t, "/v1/sessions/"+run.session+"/events?after="+end).want(http.StatusOK).text)
		a.get(t, "/v1/sessions/"+run.session+"/events?after=9223372036854775807").refused(api.CodeEventCursorReset)
		a.get(t, "/v1/runs/"+run.run+"/events?after=1000").refused(api.CodeEventCursorReset)
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
	parallel(t, "a log that is shortened while its pages are read", func(t *testing.T) {
		run := a.claimed(t)
		a.post(t, "/v1/runs/"+run.run+"/events", fmt.Sprintf(
			`{"fence":%q,"events":[{"type":"output","content":"a"},{"type":"output","content":"b"},{"type":"output","content":"c"}]}`, run.fence)).want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
		log := a.get(t, "/v1/runs/"+run.run+"/events").want(http.StatusOK)
		last := log.textAt(len(log.list())-1, "id")
		paths := []string{"/v1/sessions/" + run.session + "/events", "/v1/runs/" + run.run + "/events", "/v1/runs/" + run.run + "/outputs"}
		pages := map[string]*reply{}
		for _, path := range paths {
			pages[path] = a.get(t, path+"?limit=1").want(http.StatusOK)
		}
		trimmed := storetest.TrimSession(t, a.store, run.session, time.Now().Add(time.Hour).UnixMilli(), len(log.list())-2)
		require.Equal(t, upkeep.Trimmed{Events: len(log.list()) - 2, More: true}, trimmed, "the run is not gone yet")
		first := strconv.Itoa(trimmed.Events + 1)
		for _, path := range paths {
			seen := "1"
			if next := pages[path].header.Get("Link"); next == "" {
				seen = pages[path].textAt("next_after")
			}
			gone := a.get(t, path+"?after="+seen)
			gone.refused(api.CodeEventCursorReset)
			require.Equal(t, first, gone.at("first_kept_event_id"))
			a.get(t, path+"?after="+strconv.Itoa(trimmed.Events)).want(http.StatusOK)
			a.get(t, path+"?after="+last).want(http.StatusOK)
			a.get(t, path+"?after=1000").refused(api.CodeEventCursorReset)
		}
		require.Equal(t, first, a.get(t, paths[0]).want(http.StatusOK).at(0, "id"))
		require.Len(t, a.get(t, paths[1]+"?after=0").want(http.StatusOK).list(), 2)
		storetest.TrimSession(t, a.store, run.session, time.Now().Add(time.Hour).UnixMilli(), 1000)
		a.get(t, paths[0]+"?after=1").refused(api.CodeSessionNotFound)
		a.get(t, paths[1]+"?after=1").refused(api.CodeRunNotFound)
	})
	parallel(t, "a session without runs has an empty log", func(t *testing.T) {
		made := a.post(t, "/v1/sessions", "").want(http.StatusCreated)
		require.Equal(t, "[]", a.get(t, fmt.Sprintf("/v1/sessions/%s/events", made.at("session_id"))).want(http.StatusOK).text)
	})
}
