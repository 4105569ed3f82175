package runs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Run implements runs.ValueReader.
func (h *house) Run(_ context.Context, runID string) (*model.RunRecord, error) {
	state := h.states[h.sessionOf(runID)]
	if state == nil {
		return nil, refusal.UnknownRun(runID)
	}
	record := &model.RunRecord{Run: *state.Runs[runID]}
	for key, request := range state.Requests {
		if key.RunID == runID {
			record.Requests = append(record.Requests, *request)
		}
	}
	return record, nil
}

// SessionHead implements runs.ValueReader.
func (h *house) SessionHead(_ context.Context, sessionID string) (*model.Session, error) {
	if state := h.states[sessionID]; state != nil && state.Session != nil {
		return state.Session, nil
	}
	return nil, refusal.UnknownSession(sessionID)
}

// PendingRequests implements runs.ValueReader, in one page.
func (h *house) PendingRequests(_ context.Context, q reads.RequestQuery) ([]model.PendingRequest, error) {
	var pending []model.PendingRequest
	if state := h.states[q.SessionID]; state != nil && q.After == nil {
		for _, request := range state.Requests {
			if request.Open() && request.Kind == q.Kind {
				pending = append(pending, model.PendingRequest{Request: *request})
			}
		}
	}
	return pending, nil
}

// raisedLater hides requests from the first readings, as if they were raised between the check
// and the decision.
type raisedLater struct {
	*house

	readings, hidden int
}

func (r *raisedLater) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	r.readings++
	record, err := r.house.Run(ctx, runID)
	if err == nil && r.readings <= r.hidden {
		record.Requests = nil
	}
	return record, err
}

func decider(h *house, command runs.Command) func() (runs.Reply, error) {
	return func() (runs.Reply, error) {
		_, reply, err := runs.Decide(h.load(command.Needs()), command, h.nowMs)
		return reply, err
	}
}

// A decision looks up the verdict and does not check again: a deliberately wrong verdict
// wins.
func TestDecisionUsesTheVerdict(t *testing.T) {
	h := parallelHouse(t).wait("r", typedQuestion(`{"type":"integer"}`))
	command := valued(`"no integer"`)
	require.NoError(t, runs.Prepare(command, h.newID))
	require.NoError(t, runs.CheckValues(t.Context(), h, command))
	command.Resolution.Value = api.JSON(`7`)
	_, err := decider(h, command)()
	require.Equal(t, api.CodeInvalidRequest, refusal.CodeOf(err), "the value was checked under the lock")
}

func TestRequestRaisedAfterTheCheck(t *testing.T) {
	h := parallelHouse(t).wait("r", typedQuestion(`{"type":"integer"}`))
	command := valued(`7`)
	require.NoError(t, runs.Prepare(command, h.newID))

	late := &raisedLater{house: h, hidden: 1}
	require.NoError(t, runs.CheckValues(t.Context(), late, command))
	_, err := decider(h, command)()
	require.ErrorIs(t, err, runs.ErrUnchecked)

	late = &raisedLater{house: h, hidden: 2}
	for err != nil {
		again, unchecked, failed := runs.Lacks(t.Context(), late, command, err)
		require.NoError(t, failed)
		require.True(t, again && unchecked, err)
		require.NoError(t, runs.CheckValues(t.Context(), late, command))
		_, err = decider(h, command)()
	}
	require.Equal(t, 3, late.readings, "checked again until the request is seen")
}

// A call without values causes no reads, and a failed read is reported.
func TestCheckValuesReads(t *testing.T) {
	h := parallelHouse(t).wait("r", typedQuestion(`true`), approval("a"))
	for name, command := range map[string]runs.Command{
		"an approval as it is": allow("r", "a"),
		"a declined question":  &runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q", Declined: true}},
		"a cancellation":       &runs.CancelRun{RunID: "r"},
	} {
		require.NoError(t, runs.Prepare(command, h.newID))
		require.NoError(t, runs.CheckValues(t.Context(), brokenReader{}, command), name)
	}
	require.ErrorIs(t, runs.CheckValues(t.Context(), brokenReader{}, valued(`1`)), errBroken)
	unknown := valued(`1`)
	unknown.RunID = "nobody"
	require.NoError(t, runs.CheckValues(t.Context(), h, unknown), "the decision tells that there is no such run")
}

var errBroken = errors.New("the reader is broken")

type brokenReader struct{}

func (brokenReader) Run(context.Context, string) (*model.RunRecord, error) { return nil, errBroken }

func (brokenReader) SessionHead(context.Context, string) (*model.Session, error) {
	return nil, errBroken
}

func (brokenReader) PendingRequests(context.Context, reads.RequestQuery) ([]model.PendingRequest, error) {
	return nil, errBroken
}
