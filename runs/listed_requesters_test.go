package runs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// askers has sessions by id, and one run in each with the same id.
type askers struct {
	sessions map[string]reads.Requesters
	reads    int
}

func (a *askers) Requesters(_ context.Context, sessionIDs []string) (map[string]reads.Requesters, error) {
	a.reads++
	found := map[string]reads.Requesters{}
	for _, sessionID := range sessionIDs {
		if of, exists := a.sessions[sessionID]; exists {
			found[sessionID] = of
		}
	}
	return found, nil
}

func (a *askers) Owners(_ context.Context, runIDs []string) (map[string]reads.Owners, error) {
	a.reads++
	found := map[string]reads.Owners{}
	for _, runID := range runIDs {
		if _, exists := a.sessions[runID]; exists {
			found[runID] = reads.Owners{SessionID: runID, Principal: "user:owner"}
		}
	}
	return found, nil
}

func (a *askers) SessionHead(_ context.Context, sessionID string) (*model.Session, error) {
	of, exists := a.sessions[sessionID]
	if !exists {
		return nil, refusal.New(api.CodeSessionNotFound, "unknown session")
	}
	return &model.Session{Requesters: of.Names, ParentSessionID: of.ParentSessionID}, nil
}

func (a *askers) Run(_ context.Context, runID string) (*model.RunRecord, error) {
	if _, exists := a.sessions[runID]; !exists {
		return nil, refusal.New(api.CodeRunNotFound, "unknown run")
	}
	return &model.RunRecord{Run: model.Run{SessionID: runID, Principal: "user:owner"}}, nil
}

// A list excludes everybody where the decision does: above a request are more requesters than are told apart.
func TestAListExcludesWhomADecisionExcludes(t *testing.T) {
	t.Parallel()
	people := func(from, to int) string {
		var names []string
		for n := from; n < to; n++ {
			names = append(names, fmt.Sprintf("user:%d", n))
		}
		return strings.Join(names, "\n")
	}
	below := func(names, parent string) reads.Requesters {
		return reads.Requesters{Names: names, ParentSessionID: parent}
	}
	store := &askers{sessions: map[string]reads.Requesters{
		"top": {Names: people(0, 100)}, "overflowed": {Names: people(0, 200) + "\n*"},
		"few": below(people(100, 200), "top"), "many": below(people(100, 201), "top"), "same": below(people(0, 100), "top"), "circle": below(people(0, 1), "circle"),
		"of-few": below(people(200, 300), "few"), "of-many": below(people(200, 300), "many"), "of-same": below(people(200, 300), "same"),
		"of-overflowed": below(people(200, 300), "overflowed"), "of-circle": below(people(200, 300), "circle"), "of-nothing": below(people(200, 300), "gone"),
	}}
	var rows []model.PendingRequest
	for sessionID := range store.sessions {
		request := model.Request{SessionID: sessionID, RunID: sessionID, Handle: sessionID, Kind: model.KindApproval, Body: api.JSON(`{"exclude_requester":true}`)}
		rows = append(rows, model.PendingRequest{Request: request})
	}
	// Siblings take no reads of their own.
	for n := range 200 {
		one := rows[n]
		one.Request.Handle = fmt.Sprint("copy-", n)
		rows = append(rows, one)
	}
	listed, err := runs.ReadRequesters(t.Context(), store, rows)
	require.NoError(t, err)
	require.LessOrEqual(t, store.reads, 8, "two for each level")
	for _, name := range []string{"user:0", "USER:150", "user:200", "user:250", "user:owner", "user:stranger"} {
		caller, actor := &auth.Identity{Principal: name, Role: api.RoleOperator}, runs.Actor{Name: name}
		may := listed.MayDecide(caller, actor)
		for i := range rows {
			request := &rows[i].Request
			refused := runs.CheckRequester(t.Context(), store, request, caller, actor)
			want := refused == nil
			require.Equal(t, want, *may(request), "%s: %s", name, request.SessionID)
			tooMany := request.SessionID != "many" && strings.Contains(request.SessionID, "many") || strings.Contains(request.SessionID, "overflowed")
			require.Equal(t, tooMany, refused != nil && strings.Contains(refused.Error(), "nobody can allow it"), "%v", refused)
			require.Equal(t, tooMany, listed.NobodyMayAllow(request), request.SessionID)
			if name == "user:stranger" {
				require.Equal(t, want, !tooMany, request.SessionID)
			}
		}
	}
}

// What is compared of many requests is bounded, whatever their sessions share. Of the others it is not known who asked.
func TestAListComparesABoundedNumberOfRequesters(t *testing.T) {
	t.Parallel()
	names := strings.Repeat("user:"+strings.Repeat("x", 180)+"\n", 200)
	store := &askers{sessions: map[string]reads.Requesters{"many": {Names: names, ParentSessionID: "above"}, "above": {Names: names}, "few": {Names: "user:a"}}}
	var rows []model.PendingRequest
	for n := range 1001 {
		request := model.Request{SessionID: "many", RunID: "many", Handle: fmt.Sprint(n), Kind: model.KindApproval, Body: api.JSON(`{"exclude_requester":true}`)}
		if n == 1000 {
			request.SessionID, request.RunID = "few", "few"
		}
		rows = append(rows, model.PendingRequest{Request: request})
	}
	listed, err := runs.ReadRequesters(t.Context(), store, rows)
	require.NoError(t, err)
	may := listed.MayDecide(&auth.Identity{Principal: "user:stranger", Role: api.RoleOperator}, runs.Actor{Name: "user:stranger"})
	known := 0
	for i := range rows[:1000] {
		if may(&rows[i].Request) != nil {
			known++
		}
	}
	require.Positive(t, known)
	require.LessOrEqual(t, known*2*len(names), 4<<20)
	require.True(t, *may(&rows[1000].Request), "a small one has room")
}
