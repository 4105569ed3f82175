package timbal_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// many returns an object of n members, highest numbers first.
func many(n int, value string) string {
	var text strings.Builder
	for i := n - 1; i >= 0; i-- {
		text.WriteByte("{,"[min(n-1-i, 1)])
		text.WriteString(`"` + strconv.Itoa(i) + `":` + value)
	}
	return text.String() + "}"
}

// A caller chooses the number of members in its override. The time is linear in it: the deadline is
// far above that, and far below the time of a search for each member.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t))
	const members = 80_000
	one := approval("a")
	one.Input, one.InputSchema = api.JSON(many(members, "0")), nil
	w, first := s.paused(t, one)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	body := resumeBody(t, w.runID, ids(first)[0], `{"approved":true,"override_input":`+many(members, "1")+`}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Server.URL+"/stream", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	outcome, resolution := s.settled(t, ids(first)[0])
	require.Equal(t, api.OutcomeAllowed, outcome)
	require.Equal(t, many(members, "1"), string(resolution.UpdatedInput), "each member keeps its place")
}

// A caller chooses how often a map names a request of a child. Its session is looked up once.
func TestManyEntriesOfOneChild(t *testing.T) {
	t.Parallel()
	store := &dialecttest.HeadsRead{Store: dialecttest.SQLite(t)}
	s := serve(t, store)
	first := s.open(t, "/stream", `{"prompt":"x"}`)
	require.Equal(t, "START", first.next().kind())
	w := s.claim(t, first.runID)
	_, _, handle := s.childOf(t, w.sessionID())
	entries := make([]string, 0, 2_000)
	for i := range 1_000 {
		entries = append(entries, handle+":"+strconv.Itoa(i), "true")
	}
	before := store.Count.Load()
	second := s.open(t, "/stream", resumeBody(t, w.runID, entries...))
	require.Equal(t, "START", second.next().kind())
	require.Less(t, store.Count.Load()-before, int64(100))
	outcome, _ := s.settled(t, handle)
	require.Empty(t, outcome)
}
