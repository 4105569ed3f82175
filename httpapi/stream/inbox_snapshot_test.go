package stream

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// asked has a session and a run for each reader, who asked there.
type asked struct{}

func (asked) Owners(_ context.Context, runIDs []string) (map[string]reads.Owners, error) {
	found := map[string]reads.Owners{}
	for _, runID := range runIDs {
		found[runID] = reads.Owners{SessionID: runID}
	}
	return found, nil
}

func (asked) Requesters(_ context.Context, sessionIDs []string) (map[string]reads.Requesters, error) {
	found := map[string]reads.Requesters{}
	for _, sessionID := range sessionIDs {
		found[sessionID] = reads.Requesters{Names: "user:" + sessionID}
	}
	return found, nil
}

// unasked is a board whose requesters cannot be read.
type unasked struct{ *board }

func (unasked) Owners(context.Context, []string) (map[string]reads.Owners, error) {
	return nil, errBroken
}

// An inbox without the requesters is an inbox: of approvals that exclude them it is not known who may decide.
func TestASnapshotWithoutRequestersHasTheRequests(t *testing.T) {
	t.Parallel()
	board := newBoard()
	board.do("s", "+plain", "+excluding")
	one := board.open["s/excluding"]
	one.Request.Handle, one.Request.Body = "h", api.JSON(`{"exclude_requester":true}`)
	board.open["s/excluding"] = one
	snapshot, err := readOpen(t.Context(), unasked{board}, reads.Scope{})
	require.NoError(t, err)
	require.ErrorIs(t, snapshot.unknown, errBroken)
	may, _ := snapshot.mayDecide(&InboxFrames{Caller: &auth.Identity{Principal: "user:ada", Role: api.RoleOperator}, Actor: runs.Actor{Name: "user:ada"}})
	require.Nil(t, may[0], "excluding")
	require.True(t, *may[1], "plain")

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = readOpen(ended, unasked{board}, reads.Scope{})
	require.ErrorIs(t, err, context.Canceled)
}

// Each of many readers may decide other requests. Each gets their own answers, and few forms of the snapshot are kept.
func TestASnapshotKeepsFewForms(t *testing.T) {
	t.Parallel()
	const readers = 3 * keptForms
	snapshot := newSnapshot()
	for n := range readers {
		name := fmt.Sprint(n)
		snapshot.Pending = append(snapshot.Pending, model.PendingRequest{Request: model.Request{
			SessionID: name, RunID: name, RequestID: "a", Handle: name, Kind: model.KindApproval, Body: api.JSON(`{"id":"a","exclude_requester":true}`),
		}})
	}
	var err error
	snapshot.asked, err = runs.ReadRequesters(t.Context(), asked{}, snapshot.Pending)
	require.NoError(t, err)
	for n := range readers {
		principal := fmt.Sprint("user:", n)
		for range 2 {
			frame, err := snapshot.frameFor(&InboxFrames{Caller: &auth.Identity{Principal: principal, Role: api.RoleOperator}, Actor: runs.Actor{Name: principal}})
			require.NoError(t, err)
			var view api.InboxView
			_, data, _ := strings.Cut(string(frame), "data: ")
			require.NoError(t, json.Unmarshal([]byte(strings.TrimSpace(data)), &view))
			for _, one := range view.PendingApprovals {
				require.Equal(t, one.SessionID != fmt.Sprint(n), *one.MayDecide, "%s of %s", one.SessionID, principal)
			}
		}
	}
	require.LessOrEqual(t, len(snapshot.frames), keptForms)
}
