package hermes_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const racers = 100

// race makes the same call many times at once and counts the replies.
func race(call func() *reply) map[string]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	start := make(chan struct{})
	counts := map[string]int{}
	for range racers {
		all.Go(func() {
			<-start
			got := call()
			mu.Lock()
			defer mu.Unlock()
			counts[fmt.Sprint(got.Status, " ", got.Text)]++
		})
	}
	close(start)
	all.Wait()
	return counts
}

// testRaces holds that of many who answer at once one wins, and that nobody's click lands
// on another request.
func testRaces(t *testing.T, s *service) {
	key := func(status int, text string) string { return fmt.Sprint(status, " ", text) }
	t.Run("an approval by its id, with another one behind it", func(t *testing.T) {
		t.Parallel()
		made := s.waiting(t, approvals("a1", "a2"))
		click := `"choice":"once","approval_id":"` + made.handle(t, "a1") + `"`
		require.Equal(t, map[string]int{key(200, chose("once")): 1, key(200, other("once")): racers - 1},
			race(func() *reply { return s.respond(t, made.SessionID, click) }))
		require.Len(t, s.now(t, made).PendingApprovals, 1)
	})
	t.Run("a child's question, with the same answer from all", func(t *testing.T) {
		t.Parallel()
		made := s.askedByChild(t)
		answer := `"response":"x","clarify_id":"` + made.handle(t, "q1") + `"`
		require.Equal(t, map[string]int{key(200, took("x")): 1, key(409, stale): racers - 1},
			race(func() *reply { return s.clarify(t, made.SessionID, answer) }))
	})
	t.Run("one of several questions", func(t *testing.T) {
		t.Parallel()
		made := s.waiting(t, questions(three))
		answer := `"response":"x","clarify_id":"` + made.handle(t, "q1") + `:three"`
		require.Equal(t, map[string]int{key(200, took("x")): 1, key(409, stale): racers - 1},
			race(func() *reply { return s.clarify(t, made.SessionID, answer) }))
		require.Len(t, s.now(t, made).PendingQuestions, 1)
	})
}
