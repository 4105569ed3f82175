package door_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/door"
)

// lateReader reads runs of a memory. Their requests are hidden from the first readings, as if they
// were raised between the check of a value and the decision.
type lateReader struct {
	*memory
	readings, hidden int
}

func (r *lateReader) Run(_ context.Context, runID string) (*model.RunRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.states[r.sessionOf[runID]]
	record := &model.RunRecord{Run: *state.Runs[runID]}
	if r.readings++; r.readings > r.hidden {
		for _, request := range state.Requests {
			record.Requests = append(record.Requests, *request)
		}
	}
	return record, nil
}

func (*lateReader) PendingRequests(context.Context, reads.RequestQuery) ([]model.PendingRequest, error) {
	return nil, nil
}

func (*lateReader) SessionHead(_ context.Context, sessionID string) (*model.Session, error) {
	return nil, refusal.UnknownSession(sessionID)
}

// A value is checked again until its request is seen. A decision is never made from an unchecked one.
func TestAnUncheckedValueIsCheckedAgain(t *testing.T) {
	t.Parallel()
	answer := func(hidden int) (*lateReader, error) {
		reader := &lateReader{memory: newMemory(), hidden: hidden}
		c := loading(reader.memory, door.Options{Lanes: 1, Values: reader})
		defer c.Close()
		_, err := c.Do(t.Context(), &runs.CreateRun{
			SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
			Suspend: &api.Suspension{Questions: []api.UserQuestionRequest{{
				ID: "q", ToolCallID: "call", ResponseSchema: api.JSON(`{"type":"integer"}`),
			}}},
		})
		require.NoError(t, err)
		_, err = c.Do(t.Context(), &runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q", Value: api.JSON(`7`)}})
		return reader, err
	}
	reader, err := answer(2)
	require.NoError(t, err)
	require.Equal(t, 3, reader.readings)

	reader, err = answer(1_000)
	require.ErrorIs(t, err, runs.ErrUnavailable, "it does not go on for good")
	require.NotErrorIs(t, err, runs.ErrUnchecked)
	require.LessOrEqual(t, reader.readings, 20)
	require.True(t, reader.states["s"].Requests[runs.RequestKey{RunID: "r", RequestID: "q"}].Open())
}
