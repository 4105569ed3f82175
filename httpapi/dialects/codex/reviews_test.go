package codex_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// reviewsOf returns the review effects of a session.
func reviewsOf(t *testing.T, store runs.Store, session string) []model.Effect {
	t.Helper()
	effects, err := store.Effects(context.Background(), runs.EffectQuery{SessionID: session, Limit: 100})
	require.NoError(t, err)
	return effects
}

func testReviews(t *testing.T, service, other *replica) {
	r := service.waiting(t, approvals(
		approval("a1", `"metadata":{"method":"item/fileChange/requestApproval"}`),
		approval("a2", `"metadata":{"method":"applyPatchApproval"}`),
		approval("a3", "")))
	require.Empty(t, reviewsOf(t, service.Store, r.session))
	for range 5 {
		require.Equal(t, 3, service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK).Count("data"))
		require.Equal(t, 3, other.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK).Count("data"))
	}
	require.Eventually(t, func() bool { return len(reviewsOf(t, service.Store, r.session)) >= 2 }, 5*time.Second, 10*time.Millisecond)
	// What else was asked for is asked for before this one, on both services.
	last := service.waiting(t, approvals(approval("a1", `"metadata":{"method":"applyPatchApproval"}`)))
	for _, one := range []*replica{service, other} {
		one.get(t, "/api/sessions/"+last.session+"/approvals").Want(http.StatusOK)
	}
	require.Eventually(t, func() bool { return len(reviewsOf(t, service.Store, last.session)) == 1 }, 5*time.Second, 10*time.Millisecond)
	owed := reviewsOf(t, service.Store, r.session)
	require.Len(t, owed, 2)
	for i := range owed {
		require.Equal(t, api.EffectReviewApproval, owed[i].Kind)
	}
}

// stuck is a store whose reviews hang, or fail.
type stuck struct {
	runs.Store
	mu      sync.Mutex
	asked   int
	release chan struct{}
}

func (s *stuck) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if _, review := command.(*runs.ReviewApproval); !review {
		return s.Store.Do(ctx, command)
	}
	s.mu.Lock()
	s.asked++
	s.mu.Unlock()
	select {
	case <-s.release:
	case <-ctx.Done():
	}
	return runs.Reply{}, errors.New("no review today")
}

func (s *stuck) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// TestReviewsNeverHoldUpTheList holds that a list is shown whatever becomes of the
// reviews, and that what failed is asked for again by the next list.
func TestReviewsNeverHoldUpTheList(t *testing.T) {
	t.Parallel()
	store := &stuck{Store: dialecttest.SQLite(t), release: make(chan struct{})}
	service := serve(t, store)
	r := service.waiting(t, approvals(approval("a1", `"metadata":{"method":"applyPatchApproval"}`)))
	for range 50 {
		require.Equal(t, 1, service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK).Count("data"))
	}
	require.Eventually(t, func() bool { return store.count() == 1 }, 5*time.Second, time.Millisecond)
	close(store.release)
	require.Eventually(t, func() bool {
		service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK)
		return store.count() >= 2
	}, 5*time.Second, time.Millisecond)
	service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK)
}

// TestNoHookNoReviews holds that no review is enqueued without a hook.
func TestNoHookNoReviews(t *testing.T) {
	t.Parallel()
	store := &stuck{Store: dialecttest.SQLite(t), release: make(chan struct{})}
	service := serve(t, store, func(o *httpapi.Options) { o.Dialects = []kit.Mount{codex.New(codex.Options{})} })
	r := service.waiting(t, approvals(approval("a1", `"metadata":{"method":"applyPatchApproval"}`)))
	require.Equal(t, 1, service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK).Count("data"))
	service.API.Drain()
	require.Zero(t, store.count())
}
