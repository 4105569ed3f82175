package runs_test

import (
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// checkParts: an open request changes by the parts of its answer alone. These only
// grow, are what the log tells, in the order of the questions, and are gone once the
// request is settled.
func (h *house) checkParts(before, after *runs.State) {
	h.t.Helper()
	told := h.toldParts(after.SessionID)
	for key, is := range after.Requests {
		if !is.Open() {
			require.Nil(h.t, is.PartialAnswers, "a settled request keeps a part of an answer")
			continue
		}
		parts := partsOf(h.t, is)
		require.ElementsMatch(h.t, told[key], parts, "what is kept is not what was told")
		if parts != nil {
			require.Equal(h.t, model.KindQuestion, is.Kind)
			asked := is.Question().Questions
			require.Less(h.t, len(parts), len(asked), "every question is answered and the request is open")
			for _, question := range asked {
				if len(parts) > 0 && parts[0].QuestionID == question.ID {
					parts = parts[1:]
				}
			}
			require.Empty(h.t, parts, "not in the order of the questions")
		}
		was := before.Requests[key]
		if was == nil {
			require.Nil(h.t, is.PartialAnswers, "it was raised with a part of an answer")
			continue
		}
		require.Subset(h.t, partsOf(h.t, is), partsOf(h.t, was), "a part of an answer is gone")
		same := *is
		same.PartialAnswers = was.PartialAnswers
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

// toldParts returns the parts of answers in a session's log.
func (h *house) toldParts(sessionID string) map[runs.RequestKey][]api.UserQuestionAnswer {
	h.t.Helper()
	told := map[runs.RequestKey][]api.UserQuestionAnswer{}
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
		told[key] = append(told[key], body.Answers...)
	}
	return told
}
