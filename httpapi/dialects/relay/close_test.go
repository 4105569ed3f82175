package relay_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/runs"
)

// closable is a store whose database can go away.
type closable struct {
	runs.Store
	gone atomic.Bool
}

func (c *closable) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if c.gone.Load() {
		return runs.Reply{}, fmt.Errorf("test: %w", runs.ErrUnavailable)
	}
	return c.Store.Do(ctx, command)
}

// onReplicas runs a test against two services on one database of each engine.
func onReplicas(t *testing.T, test func(t *testing.T, first, second *service)) {
	t.Helper()
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		first, second := database.Replicas(t)
		test(t, serve(t, first, relay.Options{}), serve(t, second, relay.Options{}))
	})
}

// left waits until the session of a chat is gone for its clients.
func (s *service) left(t *testing.T, c *chat) {
	t.Helper()
	require.Eventually(t, func() bool {
		return s.answer(t, c.session, "nobody", `null`).Text == `{"error":"`+noSession+`"}`
	}, time.Minute, 10*time.Millisecond)
}

func TestAnswersOnAnotherReplica(t *testing.T) {
	onReplicas(t, func(t *testing.T, first, second *service) {
		c := first.chat(t)
		w := c.started()
		open := w.raises(approvals(bash("a", "ls"), bash("b", "ls")))
		c.relays("a", open["a"], "ls")
		c.relays("b", open["b"], "ls")
		second.answer(t, c.session, open["a"], `{"approved":true}`).accepted()
		c.settles("relay_resolved", open["a"])
		first.answer(t, c.session, open["a"], `{"approved":true}`).refused(http.StatusNotFound, noRelay)
		second.answer(t, c.session, open["b"], `{"approved":false}`).accepted()
		c.settles("relay_resolved", open["b"])
		c.denies("b", "")
		w.completes()
		c.tells("harness_end", "")
		c.Ends()
		second.answer(t, c.session, open["a"], `{"approved":true}`).refused(http.StatusNotFound, noSession)
	})
}

// If the client disconnects, its relays are gone everywhere, and the request stays open.
func TestAClosedStreamTakesItsRelays(t *testing.T) {
	onReplicas(t, func(t *testing.T, first, second *service) {
		c := first.chat(t)
		w := c.started()
		handle := w.raisesOne("a", "ls")
		c.Leave()
		second.left(t, c)
		for _, s := range []*service{first, second} {
			s.answer(t, c.session, handle, `{"approved":true}`).refused(http.StatusNotFound, noSession)
		}
		require.Equal(t, handle, c.open()["a"])
		second.post(t, "/v1/runs/"+c.run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow"}]}`).Into(new(any))
		require.Equal(t, "api", w.settled("a").Via)
		w.completes()
	})
}

func TestDetachedRelaysOutliveTheStream(t *testing.T) {
	onReplicas(t, func(t *testing.T, first, second *service) {
		c := first.chat(t, `"detached":true`)
		w := c.started()
		open := w.raises(approvals(bash("a", "ls"), bash("b", "ls")))
		c.Leave()
		first.Server.Close() // waits for the handler
		c.s = second
		second.answer(t, c.session, open["a"], `{"approved":true}`).accepted()
		second.answer(t, c.session, open["a"], `{"approved":true}`).refused(http.StatusNotFound, noRelay)
		second.answer(t, c.session, open["b"], `{"approved":false}`).accepted()
		w.completes()
		second.answer(t, c.session, open["a"], `{"approved":true}`).refused(http.StatusNotFound, noSession)
	})
}

// A stopping service ends the stream but keeps the relays, because the client has not left.
func TestDrainLeavesRelaysAnswerable(t *testing.T) {
	onReplicas(t, func(t *testing.T, first, second *service) {
		c := first.chat(t)
		handle := c.started().raisesOne("a", "ls")
		first.API.Drain()
		c.Ends()
		first.post(t, "/chat", `{`+hello+`}`).refused(http.StatusServiceUnavailable, "the service is shutting down; try again")
		first.Server.Close() // waits for the handler
		second.answer(t, c.session, handle, `{"approved":true}`).accepted()
	})
}

// If the close cannot be stored, the relays stay answerable, and the error is logged.
func TestACloseThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	inner := dialecttest.SQLite(t)
	store := &closable{Store: inner}
	s, other := serve(t, store, relay.Options{}), serve(t, inner, relay.Options{})
	c := s.chat(t)
	handle := c.started().raisesOne("a", "ls")
	store.gone.Store(true)
	c.Leave()
	s.Server.Close() // waits for the handler
	other.answer(t, c.session, handle, `{"approved":true}`).accepted()
}
