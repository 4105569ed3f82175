package timbal_test

import (
	"context"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// worker works on one run, straight on the store, as a caller of /v1 does.
type worker struct {
	t     *testing.T
	store runs.Store
	runID string
	fence int64
}

// claim claims the run with this id.
func (s *service) claim(t *testing.T, runID string) *worker {
	t.Helper()
	w := &worker{t: t, store: s.Store, runID: runID}
	w.again()
	return w
}

// again waits for the run and claims it again.
func (w *worker) again() *api.Claim {
	w.t.Helper()
	reply, err := w.store.Do(context.Background(), &runs.ClaimRun{RunID: w.runID, WorkerID: "worker", LeaseMs: 60_000})
	require.NoError(w.t, err)
	w.fence = reply.Run.Run.Fence
	return reply.Claim
}

func (w *worker) do(command runs.Command) runs.Reply {
	w.t.Helper()
	reply, err := w.store.Do(context.Background(), command)
	require.NoError(w.t, err)
	return reply
}

func (w *worker) sessionID() string {
	w.t.Helper()
	record, err := w.store.Run(context.Background(), w.runID)
	require.NoError(w.t, err)
	return record.Run.SessionID
}

// wait suspends the run for approvals and questions.
func (w *worker) wait(requests ...any) {
	w.t.Helper()
	w.suspend(false, requests...)
}

func (w *worker) suspend(hold bool, requests ...any) {
	w.t.Helper()
	command := &runs.Suspend{RunID: w.runID, Fence: w.fence}
	command.Hold = hold
	for _, request := range requests {
		switch request := request.(type) {
		case api.ApprovalRequest:
			command.Approvals = append(command.Approvals, request)
		case api.UserQuestionRequest:
			command.Questions = append(command.Questions, request)
		}
	}
	w.do(command)
}

func (w *worker) append(events ...string) {
	w.t.Helper()
	for call := range slices.Chunk(events, api.MaxEventsPerCall) {
		command := &runs.AppendEvents{RunID: w.runID, Fence: w.fence}
		for _, text := range call {
			command.Events = append(command.Events, api.JSON(text))
		}
		w.do(command)
	}
}

func (w *worker) complete(output string) {
	w.t.Helper()
	w.do(&runs.Complete{RunID: w.runID, Fence: w.fence, Output: api.JSON(output)})
}

// goOn claims the run again and completes it with the decisions it got.
func (w *worker) goOn() *api.Claim {
	w.t.Helper()
	claim := w.again()
	w.complete(`"done"`)
	return claim
}

// The approval used by most tests.
func approval(id string) api.ApprovalRequest {
	return api.ApprovalRequest{
		ID: id, ToolCallID: "call-" + id, ToolName: "send_email", Input: api.JSON(`{"to":"a@example.com","subject":"hi"}`),
		Reason:      "Send this email?",
		InputSchema: api.JSON(`{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}`),
	}
}

func question(id string) api.UserQuestionRequest {
	return api.UserQuestionRequest{ID: id, ToolCallID: "call-" + id, Questions: []api.UserQuestion{database("database")}}
}

func database(id string) api.UserQuestion {
	return api.UserQuestion{ID: id, Question: "Which database should I use?", AllowFreeform: new(true), Options: []api.QuestionOption{
		{ID: "pg", Label: "postgres"}, {ID: "my", Label: "mysql"}, {ID: "lite", Label: "sqlite"},
	}}
}

func typed(id string) api.UserQuestionRequest {
	return api.UserQuestionRequest{
		ID: id, ToolCallID: "call-" + id, Kind: "confirm", Payload: api.JSON(`{"action":"drop"}`),
		ResponseSchema: api.JSON(`{"type":"boolean"}`),
	}
}

// paused starts a run, suspends it, and returns its worker and the events.
func (s *service) paused(t *testing.T, requests ...any) (*worker, []*event) {
	t.Helper()
	stream := s.open(t, "/stream", `{"prompt":"set up my database"}`)
	w := s.claim(t, stream.runID)
	w.wait(requests...)
	return w, stream.rest()
}

// ids returns the ids of all that is shown to wait.
func ids(events []*event) []string {
	var list []string
	for _, one := range events {
		switch one.kind() {
		case "APPROVAL":
			list = append(list, one.at("approval_id").(string))
		case "INTERACTION":
			list = append(list, one.at("interaction_id").(string))
		}
	}
	return list
}

// resumeBody resumes a run with values as JSON texts.
func resumeBody(t *testing.T, parentID string, idsAndValues ...string) string {
	t.Helper()
	quote := func(text string) string {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		return string(quoted)
	}
	text := `{"prompt":"set up my database","parent_id":` + quote(parentID) + `,"resume":{`
	for i := 0; i < len(idsAndValues); i += 2 {
		if i > 0 {
			text += ","
		}
		text += quote(idsAndValues[i]) + ":" + idsAndValues[i+1]
	}
	return text + "}}"
}
