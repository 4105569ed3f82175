package runs_test

import (
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// checkParts: only the partial answers and the acknowledgement of an open request change. Partial
// answers only grow, and match the answers in the log.
func (h *house) checkParts(command runs.Command, before, after *runs.State) {
	h.t.Helper()
	reported := h.reportedParts(after.SessionID)
	for key, is := range after.Requests {
		if !is.Open() {
			continue
		}
		require.ElementsMatch(h.t, reported[key], partsOf(h.t, is), "what is kept is not what the log reports")
		was := before.Requests[key]
		if was == nil {
			require.Nil(h.t, is.PartialAnswers, "it was raised with a partial answer")
			continue
		}
		require.Subset(h.t, partsOf(h.t, is), partsOf(h.t, was), "a partial answer is gone")
		same := *is
		same.PartialAnswers = was.PartialAnswers
		switch runs.Unwrap(command).(type) {
		case *runs.AcknowledgeRequest:
			same.Acknowledgement = was.Acknowledgement
		case *runs.AdvanceRequest, *runs.FinishEffect:
			same.EscalationState = was.EscalationState
		}
		requireSame(h.t, was, &same, "an open request has changed")
	}
}

func partsOf(t require.TestingT, request *model.Request) []api.UserQuestionAnswer {
	if request.PartialAnswers == nil {
		return nil
	}
	var answers []api.UserQuestionAnswer
	require.NoError(t, json.Unmarshal(request.PartialAnswers, &answers))
	return answers
}

// reportedParts returns the partial answers in a session's log.
func (h *house) reportedParts(sessionID string) map[runs.RequestKey][]api.UserQuestionAnswer {
	h.t.Helper()
	reported := map[runs.RequestKey][]api.UserQuestionAnswer{}
	for _, event := range h.events[sessionID] {
		if event.Type != api.EventUserQuestionAnswered {
			continue
		}
		var body struct {
			RequestID   string                   `json:"request_id"`
			QuestionIDs []string                 `json:"question_ids"`
			Answers     []api.UserQuestionAnswer `json:"answers"`
		}
		require.NoError(h.t, json.Unmarshal(event.Body, &body))
		require.Len(h.t, body.QuestionIDs, len(body.Answers))
		key := runs.RequestKey{RunID: event.RunID, RequestID: body.RequestID}
		reported[key] = append(reported[key], body.Answers...)
	}
	return reported
}
