package timbal_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
)

// named is a body with an id that the client has chosen. With a context the parent stands there.
func named(t *testing.T, id, parentID string, idsAndValues ...string) string {
	t.Helper()
	context := fmt.Sprintf(`"context":{"id":%q,"parent_id":%q}`, id, parentID)
	return strings.Replace(resumeBody(t, parentID, idsAndValues...), fmt.Sprintf(`"parent_id":%q`, parentID), context, 1)
}

// inUse checks that an id is refused, and how.
func (s *service) inUse(t *testing.T, id, body string) {
	t.Helper()
	refused := s.do(t, http.MethodPost, "/stream", body)
	require.Equal(t, http.StatusConflict, refused.Status, "%s", refused.Text)
	require.Contains(t, refused.body["detail"], "Run id '"+id+"'")
}

// A resume has the id that its client has chosen, at every route and in every event
// (docs/spec/timbal.md#names).
func testANamedResume(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"))
	id := runs.NewID("mine")
	stream := s.open(t, "/stream", named(t, id, w.runID, ids(first)[0], "true"))
	require.Equal(t, id, stream.runID)
	w.again()
	w.wait(approval("b"))
	second := stream.rest()
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(second))
	require.Equal(t, w.runID, second[0].at("parent_run_id"))
	s.sameInLog(t, second)
	plain := s.do(t, http.MethodGet, "/v1/runs/"+id, "")
	require.Equal(t, http.StatusOK, plain.Status, "%s", plain.Text)
	require.Equal(t, w.runID, plain.body["run_id"])

	// The same call again, as after a lost reply, shows the same; nothing is decided twice.
	again := s.open(t, "/stream", named(t, id, w.runID, ids(first)[0], "true"))
	require.Equal(t, "true", again.Response.Header.Get("Idempotency-Replayed"))
	repeated := again.rest()
	require.Len(t, repeated, len(second))
	for i := range second {
		require.Equal(t, second[i].map_, repeated[i].map_)
	}

	// The next resume and the next message go on from it, and it is cancelled by it.
	next := runs.NewID("mine")
	third := s.open(t, "/stream", named(t, next, id, ids(second)[0], `{"approved":false}`))
	w.again()
	w.wait(approval("c"))
	last := third.rest()
	require.Equal(t, id, last[0].at("parent_run_id"))
	s.sameInLog(t, last)
	require.Equal(t, http.StatusNoContent, s.do(t, http.MethodPost, "/cancel/"+next, "").Status)
	record := s.record(t, w.runID)
	require.Equal(t, api.StatusCancelled, record.Run.Status)
	child, input := s.said(t, `{"prompt":"hello?","parent_id":"`+next+`"}`, `1`)
	require.Len(t, input["history"], 1)
	record = s.record(t, child)
	require.Equal(t, w.runID, record.Run.ParentRunID, "what /v1 shows is a run that it knows")
	require.Equal(t, w.sessionID(), record.Run.SessionID)
}

// An id can be used once, and a refused call decides nothing.
func testANameInUse(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"))
	other, otherFirst := s.paused(t, approval("a"))
	mine := runs.NewID("mine")
	made := s.do(t, http.MethodPost, "/v1/runs", `{"run_id":"`+mine+`-v1","input":1}`)
	require.Equal(t, http.StatusAccepted, made.Status)
	for _, taken := range []string{w.runID, other.runID, mine + "-v1"} {
		s.inUse(t, taken, named(t, taken, w.runID, ids(first)[0], "true"))
		s.inUse(t, taken, named(t, taken, w.runID))
	}
	for _, bad := range []string{w.runID + "~7", "a/b", strings.Repeat("x", api.MaxIDLength+1)} {
		refused := s.do(t, http.MethodPost, "/run", named(t, bad, w.runID, ids(first)[0], "true"))
		require.Equal(t, http.StatusUnprocessableEntity, refused.Status, "%s", refused.Text)
	}
	outcome, _ := s.settled(t, ids(first)[0])
	require.Empty(t, outcome, "nothing was decided")

	// Another resume has it, with the same values or with others.
	stream := s.open(t, "/stream", named(t, mine, other.runID, ids(otherFirst)[0], "true"))
	s.inUse(t, mine, named(t, mine, w.runID, ids(first)[0], "true"))
	s.inUse(t, mine, named(t, mine, other.runID, ids(otherFirst)[0], "false"))
	s.inUse(t, mine, `{"context":{"id":"`+mine+`"}}`)
	taken := s.do(t, http.MethodPost, "/v1/runs", `{"run_id":"`+mine+`","input":1}`)
	require.Equal(t, http.StatusConflict, taken.Status)
	require.Equal(t, "id_conflict", taken.body["code"])
	outcome, _ = s.settled(t, ids(first)[0])
	require.Empty(t, outcome)
	other.goOn()
	require.Equal(t, "success", stream.rest()[1].at("status", "code"))
	s.inUse(t, mine, named(t, mine, w.runID, ids(first)[0], "true")) // even when it is over
}

// A call that decides nothing, or is refused, has an id too, from which a client can continue.
func testANameOfNoDecision(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"), typed("t"))
	name := func(n int) string { return fmt.Sprintf("%s-%d", w.runID, n) }
	shown := s.show(t, named(t, name(1), w.runID))
	require.Equal(t, name(1), shown[0].at("run_id"))
	require.Equal(t, []string{"START", "INTERACTION", "APPROVAL", "OUTPUT"}, kinds(shown))
	s.sameInLog(t, shown)

	failed := s.show(t, named(t, name(2), name(1), ids(first)[1], `"maybe"`))
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(failed))
	require.Equal(t, name(2), failed[1].at("run_id"))
	require.Equal(t, "error", failed[1].at("status", "code"))
	log := s.events(t, name(2), "")
	require.Equal(t, []any{true, true}, []any{log.body["done"], log.body["expired"]}, "it is not in the log")
	failed = s.show(t, named(t, name(2), name(1), ids(first)[1], `"maybe"`))
	require.Equal(t, "error", failed[1].at("status", "code"), "the same again is refused again")

	// The fault of an answer is shown once, with the id.
	wrong := s.show(t, named(t, name(3), name(2), ids(first)[0], `"yes"`))
	require.Equal(t, name(3), wrong[0].at("run_id"))
	require.NotNil(t, wrong[1].at("metadata", "error"))

	// Another message over the paused run shows it again, by the message's id.
	message := `{"prompt":"hello?","context":{"id":"` + name(4) + `","parent_id":"` + name(3) + `"}}`
	for range 2 {
		again := s.show(t, message)
		require.Equal(t, name(4), again[0].at("run_id"))
		require.Equal(t, []string{"START", "INTERACTION", "APPROVAL", "OUTPUT"}, kinds(again))
		require.Contains(t, again[3].at("metadata", "warnings").([]any)[0], "the message was not taken")
	}

	w.do(&runs.ResolveApprovals{RunID: w.runID, Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorDeny}}})
	claimed := s.show(t, named(t, name(5), name(4), ids(first)[1], "true"))
	require.Equal(t, "approval_already_claimed", claimed[1].at("status", "reason"))
	cancelled := s.show(t, named(t, name(6), name(5), ids(first)[0], `{"type":"timbal.cancel"}`))
	require.Equal(t, "cancelled", cancelled[1].at("status", "reason"))
	s.sameInLog(t, cancelled)
	s.inUse(t, name(4), message) // the pause is over, and the id is used
	_, input := s.said(t, `{"prompt":"and now?","parent_id":"`+name(5)+`"}`, `1`)
	require.Len(t, input["history"], 1, "the conversation goes on from a refused resume too")
}

// Answers to some of a request's questions are decided one by one, and named together.
func testANamedPart(t *testing.T, s *service) {
	two := question("q")
	two.Questions = append(two.Questions, database("second"))
	w, first := s.paused(t, two, approval("a"))
	handle := strings.Split(ids(first)[0], ":")[0]
	id := runs.NewID("mine")
	body := named(t, id, w.runID, handle+":database", `"mysql"`, ids(first)[1], "true")
	part := s.show(t, body)
	require.Equal(t, id, part[0].at("run_id"))
	require.Equal(t, []string{"START", "INTERACTION", "OUTPUT"}, kinds(part))
	require.Equal(t, handle+":second", ids(part)[0])
	s.sameInLog(t, part)
	again := s.show(t, body)
	require.Equal(t, part[1].map_, again[1].map_)
	s.inUse(t, id, named(t, id, w.runID, handle+":second", `"mysql"`))
	s.gone(t, w, named(t, runs.NewID("mine"), id, handle+":second", `"sqlite"`))
}

// One id in many concurrent calls on two replicas belongs to one call, and the others decide
// nothing. The same call sent to both replicas at once is decided once and answered by both.
func TestOneNameAtOnce(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		one, other := database.Replicas(t)
		replicas := []*service{serve(t, one), serve(t, other)}
		const calls = 8
		id := runs.NewID("mine")
		bodies, handles, workers := [calls]string{}, [calls]string{}, [calls]*worker{}
		for n := range calls - 1 {
			w, first := replicas[0].paused(t, approval("a"))
			workers[n], handles[n] = w, ids(first)[0]
			bodies[n] = named(t, id, w.runID, handles[n], "true")
		}
		bodies[calls-1] = `{"context":{"id":"` + id + `"}}`
		var group sync.WaitGroup
		var status [2 * calls]int
		for n := range 2 * calls {
			group.Go(func() {
				// Leave the opened stream: its content is read from the log below.
				response, err := replicas[n%2].Send(t.Context(), replicas[n%2].Client, http.MethodPost, "/stream", bodies[n/2])
				if err == nil {
					status[n] = response.StatusCode
					_ = response.Body.Close()
				}
			})
		}
		group.Wait()
		winner := -1
		for n := range calls {
			var decided bool
			if n < calls-1 {
				outcome, _ := replicas[0].settled(t, handles[n])
				decided = outcome != ""
			} else {
				_, err := one.Run(t.Context(), id)
				decided = err == nil
			}
			if !decided {
				require.Equal(t, [2]int{http.StatusConflict, http.StatusConflict}, [2]int{status[2*n], status[2*n+1]})
				continue
			}
			require.Equal(t, -1, winner)
			winner = n
			if n < calls-1 {
				require.Equal(t, [2]int{http.StatusOK, http.StatusOK}, [2]int{status[2*n], status[2*n+1]})
				workers[n].goOn()
			} else {
				require.ElementsMatch(t, []int{http.StatusOK, http.StatusConflict}, status[2*n:])
			}
		}
		require.NotEqual(t, -1, winner)
		log := replicas[1].events(t, id, "?wait_ms=5000")
		require.Equal(t, id, dialecttest.At(log.body, "events", 0, "data", "run_id"))
	})
}
