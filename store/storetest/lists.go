package storetest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

func runIDs(records []model.RunRecord) []string {
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].Run.RunID
	}
	return ids
}

// pageRuns walks a list of runs by its cursor.
func (h *harness) pageRuns(q reads.RunQuery) []string {
	h.Helper()
	var ids []string
	for range 100 {
		page := h.runs(q)
		require.LessOrEqual(h, len(page), q.Limit)
		ids = append(ids, runIDs(page)...)
		if len(page) < q.Limit {
			return ids
		}
		last := page[len(page)-1].Run
		q.After = &reads.RunPosition{Over: model.Terminal(last.Status), SubmittedAtMs: last.SubmittedAtMs, RunID: last.RunID}
	}
	require.Fail(h, "the list does not end")
	return nil
}

var listTests = map[string]func(*harness){
	"list/runs with equal keys, page by page": func(h *harness) {
		var all, over []string
		for n := range 12 {
			run := numbered("r", (n*7)%12)
			h.do(&runs.CreateRun{SessionID: numbered("s", n%4), SessionGiven: true, RunID: run, AgentID: numbered("agent", n%2), Input: api.JSON(`1`)})
			all = append(all, run)
		}
		slices.Sort(all)
		for n := range 12 {
			if n%3 == 0 {
				h.do(&runs.CancelRun{RunID: numbered("r", n)})
				over = append(over, numbered("r", n))
			}
		}
		active := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(over, id) })
		for _, limit := range []int{1, 2, 5, 11, 12, 13} {
			require.Equal(h, all, h.pageRuns(reads.RunQuery{Limit: limit}))
			require.Equal(h, append(slices.Clone(active), over...), h.pageRuns(reads.RunQuery{Limit: limit, PriorityActive: true}))
			require.Equal(h, over, h.pageRuns(reads.RunQuery{Limit: limit, Status: api.StatusCancelled}))
		}
		for _, test := range []struct {
			query reads.RunQuery
			want  []string
		}{
			{reads.RunQuery{Limit: 3, Last: true}, all[9:]},
			{reads.RunQuery{Limit: 100, Last: true}, all},
			{reads.RunQuery{Limit: 6, Last: true, PriorityActive: true}, append(slices.Clone(active[6:]), over...)},
			{reads.RunQuery{Limit: 100, SessionID: "nobody"}, []string{}},
			{reads.RunQuery{Limit: 100, Kind: "other"}, []string{}},
			{reads.RunQuery{Limit: 100, AgentID: "\xff"}, []string{}},
			{reads.RunQuery{Limit: 100, Status: "\x00"}, []string{}},
			{reads.RunQuery{Limit: 100, After: &reads.RunPosition{RunID: "\x00"}}, []string{}},
		} {
			list := h.runs(test.query)
			require.Equal(h, test.want, runIDs(list), "%+v", test.query)
		}
		count, err := h.store.CountRuns(h.ctx, reads.RunQuery{Status: api.StatusCancelled})
		require.NoError(h, err)
		require.Equal(h, int64(len(over)), count)
		bySession := h.runs(reads.RunQuery{SessionID: "s-001", AgentID: "agent-001", Kind: api.KindInput, Limit: 100})
		require.Len(h, bySession, 3)
	},
	"list/runs carry what their views need": func(h *harness) {
		h.wait("s-1", "r-1", approvals("a", "b"))
		h.do(&runs.ResolveApprovals{RunID: "r-1", Resolutions: allow("b"), Actor: person})
		h.wait("s-2", "r-2", questions("q"))
		h.create("s-2", "r-3")
		h.create("s-2", "r-4")
		list := h.runs(reads.RunQuery{Limit: 10})
		require.Len(h, list, 4)
		for i := range list {
			require.Equal(h, h.run(list[i].Run.RunID), &list[i])
		}
		require.Equal(h, int64(1), list[3].Run.QueuedAhead)
	},
	"list/sessions by status": func(h *harness) {
		for n := range 6 {
			h.do(&runs.CreateSession{SessionID: numbered("s", n), AgentID: numbered("agent", n%2)})
		}
		h.wait("s-001", "r-1", approvals("a"))
		h.wait("s-002", "r-2", questions("q"))
		h.create("s-003", "r-3")
		h.do(&runs.EndSession{SessionID: "s-004"})
		for _, test := range []struct {
			query reads.SessionQuery
			want  []string
		}{
			{reads.SessionQuery{}, []string{"s-000", "s-001", "s-002", "s-003", "s-004", "s-005"}},
			{reads.SessionQuery{Status: api.SessionIdle}, []string{"s-000", "s-003", "s-005"}},
			{reads.SessionQuery{Status: api.SessionEnded}, []string{"s-004"}},
			{reads.SessionQuery{Status: api.StatusWaitingForApproval}, []string{"s-001"}},
			{reads.SessionQuery{Status: api.StatusWaitingForUserQuestion, AgentID: "agent-000"}, []string{"s-002"}},
			{reads.SessionQuery{AgentID: "agent-001"}, []string{"s-001", "s-003", "s-005"}},
			{reads.SessionQuery{Status: api.StatusRunning}, nil},
		} {
			for _, limit := range []int{1, 2, 10} {
				var ids []string
				query := test.query
				query.Limit = limit
				for {
					page, err := h.store.Sessions(h.ctx, query)
					require.NoError(h, err)
					for i := range page {
						ids = append(ids, page[i].Session.SessionID)
					}
					if len(page) < limit {
						break
					}
					query.After = ids[len(ids)-1]
				}
				require.Equal(h, test.want, ids, "%+v", test.query)
			}
			count, err := h.store.CountSessions(h.ctx, test.query)
			require.NoError(h, err)
			require.Equal(h, int64(len(test.want)), count, "%+v", test.query)
		}
	},
	"list/pending requests of a session and those below it": func(h *harness) {
		for _, made := range [][2]string{{"top", ""}, {"x:child", "top"}, {"a:grandchild", "x:child"}, {"top2", ""}, {"ended", "top"}, {"below-ended", "ended"}} {
			h.do(&runs.CreateSession{SessionID: made[0], ParentSessionID: made[1]})
			if made[0] != "ended" {
				h.wait(made[0], "run-of-"+made[0], approvals("p"))
			}
		}
		h.do(&runs.EndSession{SessionID: "ended"})
		for _, test := range []struct {
			query reads.RequestQuery
			want  []string
			scope reads.Scope
		}{
			{reads.RequestQuery{SessionID: "top"}, []string{"top"}, reads.Scope{}},
			{reads.RequestQuery{SessionID: "top", Below: true}, []string{"a:grandchild", "top", "x:child"}, reads.Scope{}},
			{reads.RequestQuery{SessionID: "x:child", Below: true}, []string{"a:grandchild", "x:child"}, reads.Scope{}},
			{reads.RequestQuery{SessionID: "a:grandchild", Below: true}, []string{"a:grandchild"}, reads.Scope{}},
			{reads.RequestQuery{SessionID: "unknown", Below: true}, nil, reads.Scope{}},
			{reads.RequestQuery{SessionID: "top", Below: true, RunID: "run-of-x:child"}, []string{"x:child"}, reads.Scope{}},
			{reads.RequestQuery{SessionID: "top", Below: true, RunID: "run-of-top2"}, nil, reads.Scope{}},
			{reads.RequestQuery{SessionID: "top", Below: true, RunID: "run-of-x:child", Oldest: true}, []string{"x:child"}, reads.Scope{}},
			{reads.RequestQuery{SessionID: "a:grandchild", Below: true, Oldest: true}, []string{"a:grandchild"}, reads.Scope{}},
			{reads.RequestQuery{SessionID: "x:child", Below: true, RunID: "run-of-top", Oldest: true}, nil, reads.Scope{}},
			// A caller with access to the session sees its children only within the same scope.
			{reads.RequestQuery{SessionID: "top", Below: true}, []string{"top"}, reads.Scope{SessionPrefixes: []string{"top"}}},
			{reads.RequestQuery{SessionID: "top", Below: true}, []string{"a:grandchild", "top"}, reads.Scope{SessionPrefixes: []string{"top", "a:"}}},
			{reads.RequestQuery{SessionID: "top", Below: true}, nil, reads.Scope{AgentIDs: []string{"another"}}},
			{reads.RequestQuery{SessionID: "top", Below: true}, nil, reads.Scope{OwnedBy: "agent:one"}},
		} {
			query := test.query
			query.Kind, query.Limit = model.KindApproval, 10
			within := h.store.Within(test.scope)
			page, err := within.PendingRequests(h.ctx, query)
			require.NoError(h, err)
			var got []string
			for i := range page {
				got = append(got, page[i].Request.SessionID)
			}
			require.Equal(h, test.want, got, "%+v", test.query)
			if !query.Oldest {
				count, err := within.CountPendingRequests(h.ctx, query)
				require.NoError(h, err)
				require.Equal(h, int64(len(test.want)), count, "%+v", test.query)
			}
		}
	},
	"list/a request within several scopes is counted once": func(h *harness) {
		for _, one := range []struct{ session, agent string }{{"a-1", "x"}, {"a-2", "y"}, {"b-1", "x"}, {"b-2", "y"}, {"c-1", "z"}} {
			h.do(&runs.CreateRun{
				SessionID: one.session, SessionGiven: true, RunID: "run-of-" + one.session, AgentID: one.agent, Input: api.JSON(`1`), Suspend: new(approvals("a")),
			})
		}
		ofA, ofX := reads.Scope{SessionPrefixes: []string{"a-"}}, reads.Scope{AgentIDs: []string{"x"}}
		for _, test := range []struct {
			within reads.Scope
			anyOf  []reads.Scope
			want   int64
		}{
			{reads.Scope{}, nil, 5},
			{reads.Scope{}, []reads.Scope{ofA}, 2},
			{reads.Scope{}, []reads.Scope{ofA, ofX}, 3},
			{reads.Scope{}, []reads.Scope{ofA, ofA, {SessionPrefixes: []string{"a-1", "b-"}, AgentIDs: []string{"y", "z"}}}, 3},
			{reads.Scope{}, []reads.Scope{ofA, {}}, 5},
			{ofX, []reads.Scope{ofA, {SessionPrefixes: []string{"c-"}}}, 1},
		} {
			count, err := h.store.Within(test.within).CountPendingRequests(h.ctx, reads.RequestQuery{Kind: model.KindApproval, AnyOf: test.anyOf})
			require.NoError(h, err)
			require.Equal(h, test.want, count, "%+v", test.anyOf)
		}
	},
	"list/pending requests by (session, run, request), bytewise": func(h *harness) {
		// Upper case sorts before lower case, and a dash before a digit.
		for _, session := range []string{"b", "B", "a-1", "a1"} {
			h.wait(session, "run-of-"+session, approvals("z", "Z", "y.1", "y-1"))
		}
		h.wait("c", "run-of-c", questions("q"))
		var want []reads.RequestPosition
		for _, session := range []string{"B", "a-1", "a1", "b"} {
			for _, request := range []string{"Z", "y-1", "y.1", "z"} {
				want = append(want, reads.RequestPosition{SessionID: session, RunID: "run-of-" + session, RequestID: request})
			}
		}
		for _, limit := range []int{1, 3, 16, 100} {
			var got []reads.RequestPosition
			query := reads.RequestQuery{Kind: model.KindApproval, Limit: limit}
			for {
				page := h.pending(query)
				for _, pending := range page {
					require.Equal(h, model.DefaultAgentID, pending.AgentID)
					require.Equal(h, api.KindInput, pending.RunKind)
					got = append(got, reads.RequestPosition{SessionID: pending.Request.SessionID, RunID: pending.Request.RunID, RequestID: pending.Request.RequestID})
				}
				if len(page) < limit {
					break
				}
				query.After = &got[len(got)-1]
			}
			require.Equal(h, want, got)
		}
		count, err := h.store.CountPendingRequests(h.ctx, reads.RequestQuery{Kind: model.KindApproval, SessionID: "b"})
		require.NoError(h, err)
		require.Equal(h, int64(4), count)
		list := h.pending(reads.RequestQuery{Kind: model.KindQuestion, Limit: 10})
		require.Len(h, list, 1)
		h.do(&runs.ResolveApprovals{RunID: "run-of-b", Resolutions: allow("z", "Z", "y.1"), Actor: person})
		list = h.pending(reads.RequestQuery{Kind: model.KindApproval, SessionID: "b", Limit: 10})
		require.Len(h, list, 1)
		require.Equal(h, "y-1", list[0].Request.RequestID)
	},
}
