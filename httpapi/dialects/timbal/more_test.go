package timbal_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
)

// testLiveAndRead decides requests at the moment they are raised, in every order that the scheduler
// produces, and checks that the live frames equal the ones read later, number by number.
func testLiveAndRead(t *testing.T, s *service) {
	for i := range 60 {
		stream := s.open(t, "/stream", `{}`)
		w := s.claim(t, stream.runID)
		decided := make(chan struct{})
		go func() {
			defer close(decided)
			for n := 0; n < 2; {
				record, err := s.Store.Run(context.Background(), w.runID)
				if err != nil {
					return
				}
				for _, request := range record.Requests {
					if !request.Open() {
						continue
					}
					command := &runs.DecideRequests{RunID: w.runID}
					if request.Kind == model.KindApproval {
						command.Approvals = []runs.ApprovalDecision{{RequestID: request.RequestID, Behavior: "allow"}}
					} else {
						command.Answers = []runs.QuestionAnswer{{RequestID: request.RequestID, Value: api.JSON("true")}}
					}
					if _, err := s.Store.Do(context.Background(), command); err == nil {
						n++
					}
				}
			}
		}()
		if i%2 == 0 {
			w.suspend(true, typed("t"), approval("a"))
		} else {
			w.suspend(true, typed("t"))
			w.suspend(true, approval("a"))
		}
		first := stream.rest()
		require.Contains(t, []int{3, 4}, len(first), "%v", kinds(first))
		<-decided
		s.sameInLog(t, first)
		follow := s.open(t, "/stream", resumeBody(t, w.runID))
		w.append(`{"type":"delta","text":"a"}`)
		w.complete(`1`)
		s.sameInLog(t, follow.rest())
	}
}

// testClarification answers a child's question in its parent's session. The run that waits there
// can be resumed like any other. The child's own run shows nothing to answer.
func testClarification(t *testing.T, s *service) {
	effects := loop.NewEffects(s.Store, loop.EffectsOptions{Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- effects.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	parent, child := runs.NewID("session"), runs.NewID("session")
	require.Equal(t, http.StatusCreated, s.do(t, http.MethodPost, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, parent)).Status)
	require.Equal(t, http.StatusCreated, s.do(t, http.MethodPost, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).Status)
	made := s.do(t, http.MethodPost, "/v1/sessions/"+child+"/runs", `{"input":1}`)
	w := s.claim(t, made.body["run_id"].(string))
	asked, err := runs.Ask(t.Context(), s.Store, &runs.AskClarification{RunID: w.runID, Fence: w.fence, Park: true, Request: question("q")})
	require.NoError(t, err)
	clarification := asked.Clarification.Run.RunID
	handle := asked.Clarification.Requests[0].Handle

	follow := s.open(t, "/stream", resumeBody(t, w.runID, handle, `"mysql"`))
	require.Equal(t, "START", follow.next().kind())
	events := s.show(t, resumeBody(t, clarification, handle, `"mysql"`))
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(events))
	require.Equal(t, "success", events[1].at("status", "code"))
	s.sameInLog(t, events)
	shown := s.events(t, clarification, "")
	require.Len(t, shown.body["events"], 3)
	require.Eventually(t, func() bool {
		record, err := s.Store.Run(t.Context(), w.runID)
		return err == nil && record.Run.Status == api.StatusRunning
	}, time.Minute, time.Millisecond)
	claim := w.goOn()
	require.NotNil(t, claim.Resume.Clarification)
	last := follow.rest()
	require.Equal(t, "success", last[len(last)-1].at("status", "code"))
	require.Equal(t, []any{"resume id " + handle + " is unknown to this run and was ignored"}, last[0].at("metadata", "warnings"))
}

// The contract has no member for hints, so a person reads them before the description.
func TestHintsAreInTheDescription(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t))
	one := approval("a")
	one.Hints, one.Directory = []api.Hint{{Level: api.HintDanger, Text: "production"}}, "/srv"
	_, shown := s.paused(t, one)
	require.Equal(t, "APPROVAL", shown[1].kind())
	require.Contains(t, shown[1].at("description"), "danger: production\nIn /srv")
}
