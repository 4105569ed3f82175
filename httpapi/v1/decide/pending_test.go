package decide

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Somebody else can allow what the caller asked for, and nobody what too many asked for.
func TestWhyTheCallerCannotAllow(t *testing.T) {
	t.Parallel()
	require.Equal(t, "You asked for it: someone else has to allow it.", requested(nil, false).Text)
	require.Equal(t, "Nobody can allow it: too many asked for it to tell them apart. No worker.", requested(&api.PendingExplanation{Text: "No worker."}, true).Text)
}

// A list waits for its notes no longer than the limit, and is then without them.
func TestNotesThatTakeTooLongAreLeftOut(t *testing.T) {
	t.Parallel()
	rows := []model.PendingRequest{{Request: model.Request{Handle: "a"}}}
	hangs := func(ctx context.Context, _ []model.PendingRequest) ([]*api.PendingExplanation, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	call := func(ctx context.Context) *http.Request {
		return httptest.NewRequestWithContext(auth.With(ctx, &auth.Identity{Principal: "user:ada", Role: api.RoleOperator}), http.MethodGet, "/v1/approvals", http.NoBody)
	}
	notes := map[string]note{}
	h := &handlers{explain: hangs, readsTimeout: time.Nanosecond}
	require.NoError(t, h.addNotes(call(t.Context()), rows, notes))
	require.Nil(t, notes["a"].explain)
	require.True(t, *notes["a"].mayDecide, "that needs no read")

	left, leave := context.WithCancel(t.Context())
	leave()
	h.readsTimeout = time.Hour
	require.ErrorIs(t, h.addNotes(call(left), rows, notes), context.Canceled)

	broken := errors.New("broken")
	h.explain = func(context.Context, []model.PendingRequest) ([]*api.PendingExplanation, error) { return nil, broken }
	require.ErrorIs(t, h.addNotes(call(t.Context()), rows, notes), broken)

	said := &api.PendingExplanation{Text: "No worker."}
	h.explain = func(context.Context, []model.PendingRequest) ([]*api.PendingExplanation, error) {
		return []*api.PendingExplanation{said}, nil
	}
	require.NoError(t, h.addNotes(call(t.Context()), rows, notes))
	require.Same(t, said, notes["a"].explain)
}
