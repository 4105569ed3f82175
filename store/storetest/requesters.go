package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

var requesterTests = map[string]func(*harness){
	"requesters/a list says of whom an allow is refused, as the request itself does": func(h *harness) {
		const levels = 10
		people := []string{"user:nobody"}
		raise := func(sessionID, runID, parentRunID, maker, holder string, excluding bool) {
			suspension := approvals("p")
			suspension.Approvals[0].ExcludeRequester = excluding
			suspension.Hold = true
			h.do(&runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: runID, Input: api.JSON(`1`), Principal: maker, ParentRunID: parentRunID})
			h.do(&runs.Suspend{RunID: runID, Fence: fenceOf(h, h.do(&runs.ClaimRun{RunID: runID, WorkerID: "w", Principal: holder})), Suspension: suspension})
			people = append(people, maker, holder)
		}
		for n := range levels {
			sessionID, parent, parentRun := fmt.Sprint("s", n), "", ""
			if n > 0 {
				parent = fmt.Sprint("s", n-1)
			}
			h.do(&runs.CreateSession{SessionID: sessionID, ParentSessionID: parent})
			raise(sessionID, fmt.Sprint("run-", n), parentRun, fmt.Sprint("user:maker", n), fmt.Sprint("agent:holder", n), true)
		}
		raise("by-run", "run-below", "run-1", "user:below", "agent:below", true)
		raise("by-nothing", "run-of-nothing", "run-of-nobody", "user:nothing", "", true)
		raise("open-to-all", "run-of-all", "", "user:all", "", false)
		rows, err := h.store.PendingRequests(h.ctx, reads.RequestQuery{Kind: model.KindApproval, Limit: 100})
		require.NoError(h, err)
		require.Len(h, rows, levels+3)
		together, err := runs.ReadRequesters(h.ctx, h.store, rows)
		require.NoError(h, err)
		alone := make([]*runs.ListedRequesters, len(rows))
		for i := range rows {
			alone[i], err = runs.ReadRequesters(h.ctx, h.store, rows[i:i+1])
			require.NoError(h, err)
		}
		unknown := map[string]bool{}
		for _, name := range people {
			identity := &auth.Identity{Principal: name, Role: api.RoleOperator}
			for _, actor := range []runs.Actor{{Name: name}, {Name: "User:MAKER1", ViaPrincipal: name}} {
				may := together.MayDecide(identity, actor)
				for i := range rows {
					request := &rows[i].Request
					want := runs.CheckRequester(h.ctx, h.store, request, identity, actor) == nil
					require.Equal(h, want, *may(request), "%s as %+v: %s", name, actor, request.RunID)
					if got := alone[i].MayDecide(identity, actor)(request); got == nil {
						unknown[request.RunID] = true
					} else {
						require.Equal(h, want, *got, "%s as %+v: %s", name, actor, request.RunID)
					}
				}
			}
			require.False(h, *together.MayDecide(&auth.Identity{Principal: name, Role: api.RoleObserver}, runs.Actor{})(&rows[0].Request))
		}
		require.Equal(h, map[string]bool{"run-8": true, "run-9": true}, unknown, "only those with more levels above them than are read")
	},
}
