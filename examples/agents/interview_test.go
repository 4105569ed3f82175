package agents_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
)

type written struct {
	Written string `json:"written"`
	Content string `json:"content"`
	Why     string `json:"why"`
}

func answer(t *testing.T, c *client.Client, runID string, resolution api.UserQuestionResolution) {
	t.Helper()
	_, err := c.AnswerRunQuestion(t.Context(), runID, client.AnswerQuestionParams{Resolution: resolution})
	require.NoError(t, err)
}

var shape = api.UserQuestionResolution{RequestID: "shape", Answers: []api.UserQuestionAnswer{
	{QuestionID: "name", FreeformAnswer: "orders"},
	{QuestionID: "database", SelectedOptionIDs: []string{"sqlite"}},
	{QuestionID: "features", SelectedOptionIDs: []string{"auth"}, FreeformAnswer: "a map"},
}}

func TestAnInterview(t *testing.T) {
	t.Parallel()
	c := connect(t)
	directory := t.TempDir()
	work(t, c, agents.InterviewAgent, (&agents.Interview{Directory: directory}).Handle)
	runID := begin(t, c, agents.InterviewAgent, nil)
	require.Len(t, rests(t, c, runID).PendingQuestions, 2, "all at once")
	answer(t, c, runID, shape)
	require.Equal(t, api.StatusWaitingForUserQuestion, rests(t, c, runID).Status)
	_, err := c.AnswerRunQuestion(t.Context(), runID, client.AnswerQuestionParams{
		Resolution: api.UserQuestionResolution{RequestID: "replicas", Value: api.JSON(`11`)},
	})
	require.ErrorIs(t, err, client.ErrInvalid)
	answer(t, c, runID, api.UserQuestionResolution{RequestID: "replicas", Value: api.JSON(`3`)})
	done := output[written](t, c, runID)
	content, err := os.ReadFile(done.Written)
	require.NoError(t, err)
	require.Equal(t, "name: \"orders\"\ndatabase: \"sqlite\"\nreplicas: 3\nfeatures:\n  - \"auth\"\n  - \"a map\"\n", string(content))
	require.Equal(t, string(content), done.Content)
}

func TestADeclinedInterviewWritesNothing(t *testing.T) {
	t.Parallel()
	c := connect(t)
	directory := t.TempDir()
	work(t, c, agents.InterviewAgent, (&agents.Interview{Directory: directory}).Handle)
	runID := begin(t, c, agents.InterviewAgent, nil)
	rests(t, c, runID)
	answer(t, c, runID, shape)
	answer(t, c, runID, api.UserQuestionResolution{RequestID: "replicas", Declined: true})
	done := output[written](t, c, runID)
	require.Empty(t, done.Written)
	require.Contains(t, done.Why, "rather not")
	files, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, files)
}
