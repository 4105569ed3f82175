package timbal_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// Ids, events and their numbers are the same after a restart, and a resume from before it is found
// by its key.
func TestRestart(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		store := database.Reopen(t)
		s := serve(t, store)
		w, first := s.paused(t, approval("a"), typed("t"))
		gate, asked := ids(first)[1], ids(first)[0]
		body := resumeBody(t, w.runID, gate, `true`)
		second := s.show(t, body, key("k"))
		s.Stop()
		require.NoError(t, store.Close())

		store = database.Reopen(t)
		s = serve(t, store)
		w.store = s.Store
		s.sameInLog(t, first)
		s.sameInLog(t, second)
		again := s.show(t, body, key("k"))
		require.Equal(t, second, again)
		stream := s.open(t, "/stream", resumeBody(t, second[0].at("run_id").(string), asked, `true`))
		w.again()
		w.append(`{"type":"delta","text":"a"}`)
		w.wait(approval("b"))
		third := stream.rest()
		require.Equal(t, []string{"START", "DELTA", "APPROVAL", "OUTPUT"}, kinds(third))
		s.Stop()
		require.NoError(t, store.Close())

		s = serve(t, database.Open(t))
		w.store = s.Store
		for _, events := range [][]*event{first, second, third} {
			s.sameInLog(t, events)
		}
		last, _ := s.gone(t, w, resumeBody(t, stream.runID, ids(third)[0], `true`))
		require.Equal(t, stream.runID, last[0].at("parent_run_id"))
		s.sameInLog(t, last)
	})
}

// Two segments of one run, each with its own events.
func testTwoSegments(t *testing.T, s *service) {
	first := s.open(t, "/stream", `{}`)
	w := s.claim(t, first.runID)
	w.append(`{"type":"delta","text":"one"}`, `{"type":"tool_call","id":"1"}`)
	w.wait(approval("a"))
	before := first.rest()
	require.Equal(t, []string{"START", "DELTA", "TOOL_CALL", "APPROVAL", "OUTPUT"}, kinds(before))
	second := s.open(t, "/stream", resumeBody(t, w.runID, ids(before)[0], `true`))
	w.again()
	w.append(`{"type":"delta","text":"two"}`)
	w.complete(`{"n":1}`)
	after := second.rest()
	require.Equal(t, []string{"START", "DELTA", "OUTPUT"}, kinds(after))
	s.sameInLog(t, before)
	s.sameInLog(t, after)
	require.Less(t, after[2].at("t0").(float64), after[2].at("t1").(float64)+1)
}

// A caller that chooses its run's id cannot take the id of a segment of another run: such calls
// would read, decide and cancel its own run instead.
func testAChosenIDIsNoSegments(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"))
	stream := s.open(t, "/stream", resumeBody(t, w.runID, ids(first)[0], `true`))
	w.again()
	w.wait(approval("b"))
	second := stream.rest()
	segment := stream.runID
	runID, event, _ := strings.Cut(segment, "~")
	require.Equal(t, w.runID, runID)

	refused := s.do(t, http.MethodPost, "/run", `{"context":{"id":"`+segment+`"}}`)
	require.Equal(t, http.StatusUnprocessableEntity, refused.Status, "%s", refused.Text)
	near := runID + ":" + event
	hostile := s.open(t, "/stream", `{"context":{"id":"`+near+`"}}`)
	require.Equal(t, near, hostile.runID)

	last, _ := s.gone(t, w, resumeBody(t, segment, ids(second)[0], `true`))
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(last))
	require.Equal(t, segment, last[0].at("parent_run_id"))
	outcome, _ := s.settled(t, ids(second)[0])
	require.Equal(t, api.OutcomeAllowed, outcome)
	s.sameInLog(t, second)

	// The form with a colon names a run, and no segment.
	require.Equal(t, http.StatusNoContent, s.do(t, http.MethodPost, "/cancel/"+near, "").Status)
	unknown := s.do(t, http.MethodPost, "/run", `{"parent_id":"`+runID+`:1","resume":{}}`)
	require.Equal(t, http.StatusNotFound, unknown.Status, "%s", unknown.Text)

	// /v1 answers for a segment with its run.
	for _, id := range []string{segment, runID} {
		answer := s.do(t, http.MethodGet, "/v1/runs/"+id, "")
		require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Text)
		require.Equal(t, runID, answer.body["run_id"])
	}
	require.Equal(t, http.StatusNotFound, s.do(t, http.MethodGet, "/v1/runs/nobody~7", "").Status)
	require.Equal(t, http.StatusNotFound, s.do(t, http.MethodGet, "/v1/runs/~7", "").Status)

	// A run that continues from a segment has a parent known to /v1.
	next := s.open(t, "/stream", `{"parent_id":"`+segment+`"}`)
	record := s.record(t, next.runID)
	require.Equal(t, runID, record.Run.ParentRunID)
}

// The redemption of a grant is between the worker and the service.
func testAGrantIsNotShown(t *testing.T, s *service) {
	stream := s.open(t, "/stream", `{}`)
	w := s.claim(t, stream.runID)
	w.wait(approval("a"))
	paused := stream.rest()
	segment := s.open(t, "/stream", resumeBody(t, w.runID, ids(paused)[0], "true"))
	w.again()
	w.do(&runs.RedeemGrant{RunID: w.runID, RequestID: "a", JTI: ids(paused)[0], Fence: w.fence, IdempotencyKey: "k"})
	w.append(`{"type":"step"}`)
	w.complete("1")
	require.Equal(t, []string{"START", "STEP", "OUTPUT"}, kinds(segment.rest()))
}

// More events than are read at a time, live and from the log.
func testALongSegment(t *testing.T, s *service) {
	stream := s.open(t, "/stream", `{}`)
	w := s.claim(t, stream.runID)
	for i := range 3 {
		var events []string
		for j := range 400 {
			events = append(events, fmt.Sprintf(`{"type":"delta","n":%d}`, 400*i+j))
		}
		w.append(events...)
	}
	w.wait(question("q"), approval("a"))
	all := stream.rest()
	require.Len(t, all, 1+1200+3)
	s.sameInLog(t, all[:1204])
	var cursor float64
	for pages := 0; ; pages++ {
		page := s.events(t, w.runID, fmt.Sprintf("?after=%.0f&limit=500", cursor))
		list, _ := page.body["events"].([]any)
		for i, one := range list {
			require.Equal(t, cursor+float64(i)+1, one.(map[string]any)["seq"])
		}
		cursor = page.body["next_cursor"].(float64)
		if page.body["done"] == true {
			require.Equal(t, 2, pages)
			break
		}
		require.Len(t, list, 500)
	}
	require.Equal(t, 1204.0, cursor)
}

// Requests that rules or the clock settle when they are raised do not wait and are not shown.
func testSettledWhenRaised(t *testing.T, s *service) {
	other := approval("other")
	other.ToolName = "other"
	stream := s.open(t, "/stream", `{}`)
	w := s.claim(t, stream.runID)
	_, err := s.Store.Do(t.Context(), &runs.AddRule{
		SessionID: w.sessionID(), ToolName: "send_email", Effect: api.RuleAllow, Match: api.RuleMatch{AnyInput: true}, Actor: runs.Actor{Name: "ann"},
	})
	require.NoError(t, err)
	w.wait(approval("a"))
	w.append(`{"type":"delta","text":"went on"}`)
	w.wait(approval("b"), other)
	events := stream.rest()
	require.Equal(t, []string{"START", "DELTA", "APPROVAL", "OUTPUT"}, kinds(events))
	require.Equal(t, "other", events[2].at("runnable_name"))
	s.sameInLog(t, events)

	past := int64(1)
	gone := approval("gone")
	gone.ToolName, gone.ExpiresAtMs = "other", &past
	w, first := s.paused(t, gone, typed("t"))
	require.Equal(t, []string{"START", "INTERACTION", "OUTPUT"}, kinds(first))
	s.sameInLog(t, first)
	_ = w
}

// An attached worker raises more requests while people decide. A pause shows the requests that were
// raised together, and the next pause shows the later ones.
func testAttachedWorker(t *testing.T, s *service) {
	stream := s.open(t, "/stream", `{}`)
	w := s.claim(t, stream.runID)
	w.suspend(true, question("q"))
	first := stream.rest()
	require.Equal(t, []string{"START", "INTERACTION", "OUTPUT"}, kinds(first))
	w.suspend(true, approval("a"))
	s.sameInLog(t, first)
	second := s.show(t, resumeBody(t, w.runID, ids(first)[0], `"mysql"`))
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(second))
	w.append(`{"type":"delta","text":"meanwhile"}`)
	third := s.open(t, "/stream", resumeBody(t, second[0].at("run_id").(string), ids(second)[0], `true`))
	w.complete(`1`)
	last := third.rest()
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(last))
	for _, events := range [][]*event{first, second, last} {
		s.sameInLog(t, events)
	}
}

// Any run of /v1 can be resumed and read, also one that no client of this wire started.
func testARunOfAnotherFace(t *testing.T, s *service) {
	made := s.do(t, http.MethodPost, "/v1/runs", `{"run_id":"run:7","input":"go","agent_id":"coder","suspend":{"approvals":[
			{"id":"a","tool_call_id":"c","tool_name":"bash","input":{"command":"ls"}}]}}`)
	require.Equal(t, http.StatusAccepted, made.Status, made.Text)
	log := s.events(t, "run:7", "")
	require.Len(t, log.body["events"], 3)
	record := s.record(t, "run:7")
	w := &worker{t: t, store: s.Store, runID: "run:7"}
	events, _ := s.gone(t, w, resumeBody(t, "run:7", record.Requests[0].Handle, `true`))
	require.Equal(t, "coder", events[1].at("path"))
	require.Equal(t, "go", events[1].at("input"))
	require.Equal(t, "success", events[1].at("status", "code"))
}

func testRun(t *testing.T, s *service) {
	answered := s.later(t, http.MethodPost, "/agents/coder/run", `{"context":{"id":"r"}}`)
	require.Eventually(t, func() bool { _, err := s.Store.Run(t.Context(), "r"); return err == nil }, time.Minute, time.Millisecond)
	w := s.claim(t, "r")
	w.append(`{"type":"delta","text":"a"}`)
	w.wait(approval("a"))
	first := answered()
	require.Equal(t, http.StatusOK, first.Status)
	require.Equal(t, "r", first.Header.Get("X-Run-Id"))
	require.Equal(t, "application/json", first.Header.Get("Content-Type"))
	require.Equal(t, "OUTPUT", first.body["type"])
	id := first.body["output"].(map[string]any)["approval_id"].(string)
	answered = s.later(t, http.MethodPost, "/run", resumeBody(t, "r", id, `true`))
	require.Eventually(t, func() bool { outcome, _ := s.settled(t, id); return outcome != "" }, time.Minute, time.Millisecond)
	w.goOn()
	last := answered()
	require.Equal(t, "done", last.body["output"])
	require.Equal(t, "r", last.body["parent_run_id"])
}

// A stopping service answers at once, and the run continues.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t))
	stream := s.open(t, "/stream", `{"context":{"id":"r1"}}`)
	answered := s.later(t, http.MethodPost, "/run", `{"context":{"id":"r2"}}`)
	require.Eventually(t, func() bool { _, err := s.Store.Run(t.Context(), "r2"); return err == nil }, time.Minute, time.Millisecond)
	s.API.Drain()
	gone := answered()
	require.Equal(t, http.StatusServiceUnavailable, gone.Status)
	require.Contains(t, gone.body["detail"], "r2")
	require.Equal(t, []string{"START"}, kinds(stream.rest()))
	s.claim(t, "r2").complete(`1`)
	require.Equal(t, http.StatusServiceUnavailable, s.do(t, http.MethodPost, "/stream", `{"context":{"id":"r3"}}`).Status)
	_, err := s.Store.Run(t.Context(), "r3")
	require.ErrorIs(t, err, &refusal.Error{Code: api.CodeRunNotFound}, "a run that could not be shown is not made")
}

func testEvents(t *testing.T, s *service) {
	for _, unknown := range []string{"nobody", "nobody:7", "a%20b", "%FF", "x.y:1.abc", "nobody~7", "x~1~2", "x.y~1.abc"} {
		answer := s.events(t, unknown, "?after=3")
		require.Equal(t, []any{}, answer.body["events"])
		require.Equal(t, 3.0, answer.body["next_cursor"])
		require.Equal(t, true, answer.body["done"])
		require.Equal(t, true, answer.body["expired"])
	}
	ended := s.open(t, "/stream", `{}`)
	s.claim(t, ended.runID).complete(`1`)
	ended.rest()
	require.Equal(t, false, s.events(t, ended.runID, "").body["expired"])
	record := s.record(t, ended.runID)
	trimmed := storetest.TrimSession(t, s.Store, record.Run.SessionID, time.Now().Add(time.Hour).UnixMilli(), 1)
	require.Equal(t, upkeep.Trimmed{Events: 1, More: true}, trimmed)
	require.Equal(t, []any{true, []any{}}, []any{s.events(t, ended.runID, "").body["expired"], s.events(t, ended.runID, "").body["events"]},
		"a log without its beginning is not shown")
	for _, bad := range []string{"?after=x", "?limit=", "?wait_ms=1.5"} {
		require.Equal(t, 422, s.do(t, http.MethodGet, "/runs/x/events"+bad, "").Status, bad)
	}
	stream := s.open(t, "/stream", `{}`)
	w := s.claim(t, stream.runID)
	first := s.events(t, w.runID, "?after=-5&limit=0&wait_ms=999999")
	require.Len(t, first.body["events"], 1, "limit is at least 1, and what is there is not waited for")
	require.Equal(t, false, first.body["done"])
	beyond := s.events(t, w.runID, "?after=-99999999999999999999&limit=99999999999999999999&wait_ms=99999999999999999999")
	require.Equal(t, first.body["events"], beyond.body["events"])
	held := s.later(t, http.MethodGet, "/runs/"+w.runID+"/events?after=1&wait_ms=20000", "")
	w.append(`{"type":"delta","text":"a"}`)
	require.Len(t, held().body["events"], 1)
	none := s.events(t, w.runID, "?after=2&wait_ms=5")
	require.Equal(t, []any{}, none.body["events"])
	require.Equal(t, 2.0, none.body["next_cursor"])
	require.Equal(t, false, none.body["done"])
	held = s.later(t, http.MethodGet, "/runs/"+w.runID+"/events?after=2&wait_ms=20000", "")
	w.complete(`1`)
	over := held()
	require.Len(t, over.body["events"], 1)
	require.Equal(t, true, over.body["done"])
	past := s.events(t, "x", "") // unknown
	require.Equal(t, true, past.body["done"])
	past = s.do(t, http.MethodGet, "/agents/any/runs/"+w.runID+"/events?after=99&limit=99999", "")
	require.Equal(t, []any{}, past.body["events"])
	require.Equal(t, true, past.body["done"])
}

func testCancel(t *testing.T, s *service) {
	require.Equal(t, http.StatusNoContent, s.do(t, http.MethodGet, "/healthcheck", "").Status)
	notFound := map[string]any{"error": "Job not found or already completed"}
	for _, unknown := range []string{"nobody", "nobody:7", "%00"} {
		answer := s.do(t, http.MethodPost, "/cancel/"+unknown, "")
		require.Equal(t, http.StatusNotFound, answer.Status)
		require.Equal(t, notFound, answer.body)
	}
	stream := s.open(t, "/stream", `{}`)
	require.Equal(t, http.StatusNoContent, s.do(t, http.MethodPost, "/cancel/"+stream.runID, "").Status)
	events := stream.rest()
	require.Equal(t, map[string]any{"status": "interrupted", "reason": nil}, events[1].at("output"))
	require.Equal(t, map[string]any{"code": "cancelled", "reason": "interrupted", "message": nil}, events[1].at("status"))
	s.sameInLog(t, events)
	again := s.do(t, http.MethodPost, "/cancel/"+stream.runID, "")
	require.Equal(t, http.StatusNotFound, again.Status)
	require.Equal(t, notFound, again.body)

	w, first := s.paused(t, approval("a"), typed("t"))
	second := s.show(t, resumeBody(t, w.runID, ids(first)[1], `true`))
	answer := s.do(t, http.MethodPost, "/agents/any/cancel/"+second[0].at("run_id").(string), "", actor("ann"))
	require.Equal(t, http.StatusNoContent, answer.Status)
	require.Empty(t, answer.Text)
	_, resolution := s.settled(t, ids(first)[0])
	require.Equal(t, api.OutcomeCancelled, resolution.Outcome)
	require.Equal(t, "ann", resolution.ResolvedBy)
}
