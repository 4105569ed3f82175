package timbal_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/sqlite"
)

// serveAt starts a service whose clock stands still until it is moved.
func serveAt(t *testing.T) (*service, *atomic.Int64) {
	t.Helper()
	var nowMs atomic.Int64
	nowMs.Store(1_750_000_000_000)
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{NowMs: nowMs.Load})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return serve(t, store), &nowMs
}

// When everything happens in one millisecond, the live stream still equals the later read: equal
// times do not mean that events were written together.
func TestLiveAndReadInOneMillisecond(t *testing.T) {
	t.Parallel()
	s, _ := serveAt(t)
	testLiveAndRead(t, s)
}

// An expired decision does not count. But a repeat of a call that decided in time counts as the
// same call, however late it is sent.
func TestDecisionsThatExpire(t *testing.T) {
	t.Parallel()
	s, nowMs := serveAt(t)
	w, first := s.paused(t, approval("a"), approval("b"), approval("c"))
	value := fmt.Sprintf(`{"approved":true,"expires_at":%d}`, nowMs.Load()+1)
	list := ids(first)
	body := resumeBody(t, w.runID, list[0], value, list[1], value)
	second := s.show(t, body, key("k"))
	require.Equal(t, list[2:], ids(second))
	nowMs.Add(1)
	require.Equal(t, second, s.show(t, body, key("k")))
	require.Equal(t, second, s.show(t, resumeBody(t, w.runID, list[1], value, list[0], value), key("k")), "in whatever order")
	late := s.show(t, resumeBody(t, second[0].at("run_id").(string), list[2], value))
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(late))
	outcome, _ := s.settled(t, list[2])
	require.Empty(t, outcome)
}
