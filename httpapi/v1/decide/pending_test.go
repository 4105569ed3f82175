package decide

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A list waits for its notes no longer than the limit, and is then without them.
func TestNotesThatTakeTooLongAreLeftOut(t *testing.T) {
	t.Parallel()
	rows := []model.PendingRequest{{Request: model.Request{Handle: "a"}}}
	hangs := func(ctx context.Context, _ []model.PendingRequest) ([]*api.PendingExplanation, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	notes := map[string]*api.PendingExplanation{}
	h := &handlers{explain: hangs, readsTimeout: time.Nanosecond}
	require.NoError(t, h.addNotes(t.Context(), rows, notes))
	require.Empty(t, notes)

	left, leave := context.WithCancel(t.Context())
	leave()
	h.readsTimeout = time.Hour
	require.ErrorIs(t, h.addNotes(left, rows, notes), context.Canceled)

	broken := errors.New("broken")
	h.explain = func(context.Context, []model.PendingRequest) ([]*api.PendingExplanation, error) { return nil, broken }
	require.ErrorIs(t, h.addNotes(t.Context(), rows, notes), broken)

	note := &api.PendingExplanation{Text: "No worker."}
	h.explain = func(context.Context, []model.PendingRequest) ([]*api.PendingExplanation, error) {
		return []*api.PendingExplanation{note}, nil
	}
	require.NoError(t, h.addNotes(t.Context(), rows, notes))
	require.Same(t, note, notes["a"])
}
