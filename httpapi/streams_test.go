package httpapi_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/store/storetest"
)

func testStreams(t *testing.T, a *rig) {
	t.Run("the inbox", func(t *testing.T) { t.Parallel(); testInbox(t, a) })
	parallel(t, "a session: a snapshot, and then what happens", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`]`)
		path := "/v1/sessions/" + run.session
		stream := a.follow(t, path+"/stream")
		require.Equal(t, "text/event-stream", stream.response.Header.Get("Content-Type"))
		require.Equal(t, "no-store", stream.response.Header.Get("Cache-Control"))
		require.Equal(t, "no", stream.response.Header.Get("X-Accel-Buffering"))
		id, view := stream.snapshot()
		require.Equal(t, a.get(t, path).body, any(view))
		require.Equal(t, a.position(t, run.session, view["last_event_id"].(string)), id)

		a.post(t, path+"/runs", `{"input":2}`).want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1", "a2")).want(http.StatusAccepted)
		var seen []frame
		for len(seen) == 0 || seen[len(seen)-1].name != "started" {
			seen = append(seen, stream.event())
		}
		a.requireLog(t, path, id, seen)
	})
	parallel(t, "a run: its own events, and an end", func(t *testing.T) {
		run := a.claimed(t)
		path := "/v1/runs/" + run.run
		stream := a.follow(t, path+"/stream")
		id, view := stream.snapshot()
		require.Equal(t, a.get(t, path).body, any(view))
		for range 3 {
			a.post(t, "/v1/sessions/"+run.session+"/runs", `{"input":2}`).want(http.StatusAccepted)
			a.post(t, path+"/events", fmt.Sprintf(`{"fence":%q,"events":[{"type":"delta","text":"a\nb"}, { "type" : "spaced",
				"spaced" : [ 1 ] }]}`, run.fence)).want(http.StatusAccepted)
		}
		a.post(t, path+"/complete", fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
		var seen []frame
		for len(seen) < 7 {
			seen = append(seen, stream.event())
		}
		stream.ends()
		a.requireLog(t, path, id, seen)
		require.Equal(t, "completed", seen[6].name)

		over := a.get(t, path+"/stream").want(http.StatusOK)
		require.Equal(t, []string{"", seen[6].id}, ids(frames(t, over.text)), "the snapshot of what is over, and nothing else")
		again := frames(t, a.get(t, path+"/stream?cursor="+id).want(http.StatusOK).text)
		require.Equal(t, seen, again[1:], "without a snapshot")
		require.Len(t, frames(t, a.get(t, path+"/stream?cursor="+seen[6].id).want(http.StatusOK).text), 1)
	})
	parallel(t, "resuming", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		for _, path := range []string{"/v1/sessions/" + run.session, "/v1/runs/" + run.run} {
			first := a.position(t, run.session, "1")
			for _, resumed := range []*reader{
				a.follow(t, path+"/stream?cursor="+first),
				a.follow(t, path+"/stream", header("Last-Event-ID", first)),
				a.follow(t, path+"/stream?cursor=0", header("Last-Event-ID", first)),
				a.follow(t, path+"/stream?cursor="+first, header("Last-Event-ID", "0")),
				a.follow(t, path+"/stream?cursor="+first, header("Last-Event-ID", "x")),
				a.follow(t, path+"/stream?cursor=1", header("Last-Event-ID", first)),
			} {
				a.requireLog(t, path, "1", []frame{resumed.event(), resumed.event()})
			}
			for _, none := range []string{"", "x", "-1", "01", "9223372036854775808"} {
				id, _ := a.follow(t, path+"/stream", header("Last-Event-ID", none)).snapshot()
				require.Equal(t, a.position(t, run.session, "3"), id)
				refused := a.get(t, path+"/stream?cursor="+none, unchecked())
				refused.refused(api.CodeInvalidEventCursor)
			}
			// A number alone may be of another log.
			for _, unknown := range []string{"1", "2", "3", "1.0123456789abcdef", "3.0123456789abcdef"} {
				reset := a.follow(t, path+"/stream?cursor="+unknown)
				require.Equal(t, frame{name: "stream_gap", data: `{"reason":"reset"}`}, reset.event(), unknown)
				reset.snapshot()
			}
			for _, malformed := range []string{"1.", "1.x", "1.01234", "1.0123456789ABCDEF", ".0123456789abcdef"} {
				a.get(t, path+"/stream?cursor="+malformed, unchecked()).refused(api.CodeInvalidEventCursor)
			}
			a.get(t, path+"/events?after="+first).want(http.StatusOK)
			a.get(t, path+"/events?after=1.0123456789abcdef").refused(api.CodeEventCursorReset)
			a.get(t, path+"/events?after=4").refused(api.CodeEventCursorReset)
		}
		a.get(t, "/v1/sessions/%00/stream").refused(api.CodeSessionNotFound)
		a.get(t, "/v1/runs/%FF/stream").refused(api.CodeRunNotFound)
	})
	parallel(t, "ahead of the log", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		a.post(t, "/v1/sessions/"+run.session+"/runs", `{"input":2}`).want(http.StatusAccepted)
		for _, path := range []string{"/v1/sessions/" + run.session, "/v1/runs/" + run.run} {
			for _, ahead := range []*reader{
				a.follow(t, path+"/stream?cursor=1000"),
				a.follow(t, path+"/stream", header("Last-Event-ID", "9223372036854775807")),
			} {
				require.Equal(t, frame{name: "stream_gap", data: `{"reason":"ahead"}`}, ahead.event())
				_, view := ahead.snapshot()
				require.Equal(t, a.get(t, path).body, any(view))
			}
		}
		between := a.follow(t, "/v1/runs/"+run.run+"/stream?cursor="+a.position(t, run.session, "4"))
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
		require.Equal(t, "approval_resolved", between.event().name, "an event of another run is not ahead")
	})
	parallel(t, "before what is kept", func(t *testing.T) {
		old := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		path := "/v1/sessions/" + old.session
		a.post(t, "/v1/runs/"+old.run+"/cancel", "").want(http.StatusOK)
		kept := a.post(t, path+"/runs", `{"input":2}`).want(http.StatusAccepted).textAt("run_id")
		end := a.get(t, path).textAt("last_event_id")
		gone := a.get(t, path+"/events").want(http.StatusOK)
		trimmed := storetest.TrimSession(t, a.store, old.session, time.Now().Add(time.Hour).UnixMilli(), 1000)
		require.Equal(t, 1, trimmed.Runs)
		lastGone := gone.textAt(trimmed.Events-1, "id") + "." + gone.textAt(trimmed.Events-1, "hash")[:16]
		first := strconv.Itoa(trimmed.Events + 1)
		oldest := a.position(t, old.session, first)

		events := a.get(t, path+"/events").want(http.StatusOK).list()
		require.Equal(t, first, events[0].(map[string]any)["id"])
		require.Equal(t, end, events[len(events)-1].(map[string]any)["id"])
		require.Equal(t, events, a.get(t, path+"/events?after=0").want(http.StatusOK).list(), "all that is kept")
		require.Equal(t, events, a.get(t, path+"/events?after="+strconv.Itoa(trimmed.Events)).want(http.StatusOK).list())
		for _, before := range []string{"1", strconv.Itoa(trimmed.Events - 1)} {
			gone := a.get(t, path+"/events?after="+before)
			gone.refused(api.CodeEventCursorReset)
			require.Equal(t, first, gone.at("first_kept_event_id"))
		}
		require.Equal(t, first, a.get(t, "/v1/runs/"+kept+"/events?after=1").want(http.StatusOK).at(0, "id"), "nothing of the run is missing")
		for _, before := range []string{"0", "1", strconv.Itoa(trimmed.Events - 1)} {
			reset := a.follow(t, path+"/stream?cursor="+before)
			require.Equal(t, frame{name: "stream_gap", data: `{"reason":"reset"}`}, reset.event())
			id, view := reset.snapshot()
			require.Equal(t, a.position(t, old.session, end), id)
			require.Equal(t, a.get(t, path).body, any(view))
		}
		require.Equal(t, oldest, a.follow(t, path+"/stream?cursor="+lastGone).event().id)
		require.Equal(t, oldest, a.follow(t, "/v1/runs/"+kept+"/stream?cursor=0").event().id, "nothing of the run is missing")
		a.get(t, "/v1/runs/"+old.run+"/stream?cursor=1").refused(api.CodeRunNotFound)
	})
	parallel(t, "a session that is used again", func(t *testing.T) {
		inbox, shown := a.follow(t, "/v1/stream"), newPrompts()
		old := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		path := "/v1/sessions/" + old.session
		inbox.until(shown, func() bool { return shown.open[promptKey(old.session, old.run, "a1")] })
		open := a.follow(t, path+"/stream")
		open.snapshot()
		a.post(t, "/v1/runs/"+old.run+"/approvals", deny("a1")).want(http.StatusAccepted)
		inbox.until(shown, func() bool { return !shown.open[promptKey(old.session, old.run, "a1")] })
		a.post(t, "/v1/runs/"+old.run+"/cancel", "").want(http.StatusOK)
		end := a.get(t, path).textAt("last_event_id")
		last, _ := a.follow(t, path+"/stream").snapshot()
		require.Equal(t, a.position(t, old.session, end), last)
		for name := ""; name != "cancelled"; {
			name = open.event().name
		}
		trimmed := storetest.TrimSession(t, a.store, old.session, time.Now().Add(time.Hour).UnixMilli(), 1000)
		require.True(t, trimmed.Session)

		// The new log has as many events, and then more.
		create := fmt.Sprintf(`{"session_id":%q,"run_id":%q,"input":"go","suspend":{"approvals":[%s]}}`, old.session, old.run, approval("a1"))
		a.post(t, "/v1/runs", create).want(http.StatusAccepted)
		inbox.until(shown, func() bool { return shown.open[promptKey(old.session, old.run, "a1")] })
		for range 3 {
			a.post(t, path+"/runs", `{"input":2}`).want(http.StatusAccepted)
		}
		for {
			if _, err := open.read(); err != nil {
				break // its reader reconnects
			}
		}
		for _, of := range []string{path, "/v1/runs/" + old.run} {
			for _, cursor := range []string{last, end} {
				reset := a.follow(t, of+"/stream", header("Last-Event-ID", cursor))
				require.Equal(t, frame{name: "stream_gap", data: `{"reason":"reset"}`}, reset.event(), "%s %s", of, cursor)
				_, view := reset.snapshot()
				require.Equal(t, a.get(t, of).body, any(view))
			}
		}
	})
	parallel(t, "a session that ends", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		path := "/v1/sessions/" + run.session
		stream, ofRun := a.follow(t, path+"/stream"), a.follow(t, "/v1/runs/"+run.run+"/stream")
		id, _ := stream.snapshot()
		ofRun.snapshot()
		a.post(t, path+"/end", "").want(http.StatusOK)
		seen := []frame{stream.event(), stream.event()}
		stream.ends()
		a.requireLog(t, path, id, seen)
		require.Equal(t, []frame{ofRun.event(), ofRun.event()}, seen)
		ofRun.ends()

		all := frames(t, a.get(t, path+"/stream").want(http.StatusOK).text)
		require.Equal(t, "snapshot", all[1].name)
		require.Len(t, all, 2)
		a.requireLog(t, path, "0", frames(t, a.get(t, path+"/stream?cursor=0").want(http.StatusOK).text)[1:])
		require.Len(t, frames(t, a.get(t, path+"/stream?cursor="+seen[1].id).want(http.StatusOK).text), 1)
	})
	parallel(t, "a session that ends without an event", func(t *testing.T) {
		path := "/v1/sessions/" + a.post(t, "/v1/sessions", "").want(http.StatusCreated).textAt("session_id")
		stream := a.follow(t, path+"/stream")
		id, _ := stream.snapshot()
		require.Equal(t, "0", id)
		a.post(t, path+"/end", "").want(http.StatusOK)
		stream.ends()
	})
}
