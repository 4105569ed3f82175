package runs_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// pair asks two questions; the first is the same as in question.
func pair(id string) api.UserQuestionRequest {
	request := question(id)
	request.Questions = append(request.Questions, api.UserQuestion{ID: "pace", Header: "Pace", Question: "How fast?"})
	return request
}

func drawQuestion(t *rapid.T, id string) api.UserQuestionRequest {
	return rapid.SampledFrom([]func(string) api.UserQuestionRequest{question, pair, pair}).Draw(t, "questions")(id)
}

// drawAnswers answers some of the questions of a pair, mostly with valid answers.
func drawAnswers(t *rapid.T) []api.UserQuestionAnswer {
	return rapid.SliceOfN(rapid.SampledFrom([]api.UserQuestionAnswer{
		chosen("route", "north"), chosen("route", "south"), written("pace", "fast"), written("pace", "slow"),
		chosen("route", "none"), written("other", "x"),
	}), 0, 2).Draw(t, "answers")
}

// drawPart draws a partial answer to a request, on its run's or its session's route.
func drawPart(t *rapid.T, h *house) runs.Command {
	runID := drawRun(t, h)
	command := &runs.AnswerQuestion{RunID: runID, Partial: true, Resolution: runs.QuestionAnswer{
		RequestID: drawRequest(t, h, runID), Answers: drawAnswers(t),
	}}
	if rapid.IntRange(0, 9).Draw(t, "whole") == 0 {
		command.Partial = false
	}
	if rapid.IntRange(0, 2).Draw(t, "by session") == 0 {
		command.RunID, command.SessionID = "", drawSession(t)
	}
	return command
}

// drawDecision decides about several requests of a run, or cancels it by one.
func drawDecision(t *rapid.T, h *house) runs.Command {
	runID := drawRun(t, h)
	command := &runs.DecideRequests{RunID: runID, Key: drawKey(t)}
	approvals := h.openRequests(runID, model.KindApproval)
	questions := h.openRequests(runID, model.KindQuestion)
	if rapid.IntRange(0, 9).Draw(t, "any ids") == 0 {
		approvals, questions = propertyRequests, propertyRequests
	}
	if len(approvals) > 0 {
		for _, id := range rapid.SliceOfN(rapid.SampledFrom(approvals), 0, 2).Draw(t, "approvals") {
			command.Approvals = append(command.Approvals, runs.ApprovalDecision{
				RequestID: id, Behavior: rapid.SampledFrom([]api.Behavior{"allow", "deny"}).Draw(t, "behavior"),
			})
		}
	}
	if len(questions) > 0 {
		for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom(questions), 0, 2, rapid.ID).Draw(t, "questions") {
			answer := runs.QuestionAnswer{RequestID: id, Declined: rapid.Bool().Draw(t, "declined")}
			if !answer.Declined {
				answer.Answers = rapid.SampledFrom([][]api.UserQuestionAnswer{
					{chosen("route", "north")}, {chosen("route", "south"), written("pace", "fast")}, {written("pace", "slow")},
				}).Draw(t, "answer")
			}
			command.Answers = append(command.Answers, answer)
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "cancel") == 0 {
		command.CancelRequestID, command.CancelReason = drawRequest(t, h, runID), "enough"
	}
	return command
}

func drawAmend(t *rapid.T, _ *house) runs.Command {
	return &runs.AmendSession{SessionID: drawSession(t), Metadata: api.JSON(rapid.SampledFrom([]string{
		`{}`, `{"a":1}`, `{"a":1.0,"b":{"c":null}}`, `{"a":null}`, `{"b":null,"c":[]}`, `[]`,
	}).Draw(t, "metadata"))}
}

// A decision about several requests is accepted or refused as a whole, whichever item is invalid.
// An accepted decision settles exactly the requests that it names.
func TestDecisionIsAllOrNone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t).wait("r", approval("a"), approval("b"), withInputSchema("c"), pair("d"), pair("e"), question("f"))
		for range rapid.IntRange(0, 2).Draw(t, "before") {
			_, err := h.do(drawDecision(t, h))
			require.True(t, err == nil || refusal.CodeOf(err) != "")
		}
		command := drawDecision(t, h).(*runs.DecideRequests)
		command.RunID = "r"
		if len(command.Approvals) > 0 && rapid.Bool().Draw(t, "override") {
			command.Approvals[0].UpdatedInput = api.JSON(rapid.SampledFrom([]string{`{"command":"ls"}`, `{"command":1}`}).Draw(t, "input"))
		}
		before := copyState(h.states["s"])
		reply, change, err := h.decide(command)
		h.flush()
		if err != nil || reply.Replayed {
			require.True(t, change.Empty(), "a refused decision wrote something")
			return
		}
		var settled []string
		for key, request := range h.states["s"].Requests {
			if !request.Open() && before.Requests[key].Open() {
				settled = append(settled, key.RequestID)
			}
		}
		var named []string
		for _, one := range command.Approvals {
			named = append(named, one.RequestID)
		}
		for _, one := range command.Answers {
			named = append(named, one.RequestID)
		}
		if command.CancelRequestID != "" {
			require.Equal(t, api.StatusCancelled, h.run("r").Status)
			named = h.before(before)
		}
		require.ElementsMatch(t, named, settled)
		require.Equal(t, len(h.openRequests("r", "")) > 0, model.Waiting(h.run("r").Status))
	})
}

// before returns the ids of the requests that were open.
func (h *house) before(state *runs.State) []string {
	var open []string
	for key, request := range state.Requests {
		if request.Open() {
			open = append(open, key.RequestID)
		}
	}
	return open
}

// Several clients answer one request, wholly or in parts and in any order. The recorded answer is
// one accepted whole answer, or is assembled from the accepted parts. It is settled once.
func TestFacesAnswerInParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t).wait("r", survey("q"))
		parts := []api.UserQuestionAnswer{
			chosen("one", "x"), chosen("one", "y"), chosen("many", "x", "z"), chosen("many", "y"),
			written("text", "now"), written("text", "later"),
		}
		taken := map[string]api.UserQuestionAnswer{}
		for h.request("r", "q").Open() {
			face := runs.Actor{Name: "ann", Via: rapid.SampledFrom([]string{"hermes", "codex", "api"}).Draw(t, "face")}
			command := &runs.AnswerQuestion{RunID: "r", Actor: face, Partial: true, Resolution: answers(
				rapid.SliceOfNDistinct(rapid.SampledFrom(parts), 1, 2, func(a api.UserQuestionAnswer) string { return a.QuestionID }).Draw(t, "parts")...)}
			if rapid.IntRange(0, 5).Draw(t, "whole") == 0 {
				command.Partial = false
				command.Resolution = answers(chosen("one", "z"), chosen("many", "z"), written("text", "whole"))
			}
			conflict := command.Partial && slices.ContainsFunc(command.Resolution.Answers, func(a api.UserQuestionAnswer) bool {
				return taken[a.QuestionID].QuestionID != ""
			})
			_, err := h.do(command)
			if conflict {
				require.Nil(t, requireCode(t, api.CodeQuestionStateConflict, err).Recorded)
				continue
			}
			require.NoError(t, err)
			if !command.Partial {
				clear(taken)
			}
			for _, answer := range command.Resolution.Answers {
				taken[answer.QuestionID] = answer
			}
			if !h.request("r", "q").Open() {
				require.Equal(t, face.Via, h.request("r", "q").Recorded().Via, "the one who gave the last part")
			}
		}
		recorded := h.request("r", "q").Recorded()
		require.Equal(t, []api.UserQuestionAnswer{taken["one"], taken["many"], taken["text"]}, recorded.Answers)
		require.Equal(t, api.StatusRunning, h.run("r").Status)
		h.refused(api.CodeQuestionStateConflict, &runs.AnswerQuestion{RunID: "r", Partial: true, Resolution: answers(chosen("one", "x"))})
	})
}
