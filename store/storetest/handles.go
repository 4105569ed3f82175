package storetest

import (
	"context"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// twoQuestions asks two questions in one request.
func twoQuestions(id string) api.Suspension {
	asked := question(id)
	other := asked.Questions[0]
	other.ID = "speed"
	asked.Questions = append(asked.Questions, other)
	return api.Suspension{Questions: []api.UserQuestionRequest{asked}}
}

// part answers one of the questions that twoQuestions("q") asks in run r.
func part(questionID string) *runs.AnswerQuestion {
	return &runs.AnswerQuestion{RunID: "r", Partial: true, Actor: person, Resolution: runs.QuestionAnswer{
		RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: questionID, SelectedOptionIDs: []string{"left"}}},
	}}
}

var handleTests = map[string]func(*harness){
	"handle/finds a request, open and settled": func(h *harness) {
		h.do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", AgentID: "coder", Input: api.JSON(`1`)})
		fence := h.claim("r")
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: approvals("a", "b")})
		open := h.run("r").Requests[0]
		found, err := h.store.RequestByHandle(h.ctx, open.Handle)
		require.NoError(h, err)
		require.Equal(h, &model.PendingRequest{Request: open, AgentID: "coder", RunKind: api.KindInput}, found)
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		h.do(&runs.CancelRun{RunID: "r"})
		found, err = h.store.RequestByHandle(h.ctx, open.Handle)
		require.NoError(h, err)
		require.Equal(h, api.OutcomeAllowed, found.Request.Outcome)
		for _, handle := range []string{"", "nothing", "nul\x00", "\xff", "a"} {
			_, err := h.store.RequestByHandle(h.ctx, handle)
			requireCode(h, api.CodeRequestNotFound, err)
		}
	},
	"handle/shows who asks a clarification": func(h *harness) {
		fence := h.child("asker")
		runID := h.ask("asker", fence, "q", true)
		h.carryOut()
		pending := h.session("parent").Besides[0]
		found, err := h.store.RequestByHandle(h.ctx, pending.Request.Handle)
		require.NoError(h, err)
		require.Equal(h, &pending, found)
		require.Equal(h, runID, found.Request.RunID)
		require.NotEmpty(h, found.Requester)
	},
	"session head/is the row": func(h *harness) {
		h.do(&runs.CreateSession{SessionID: "s", AgentID: "coder", Metadata: api.JSON(`{"a":1}`)})
		h.create("s", "r")
		h.do(&runs.AmendSession{SessionID: "s", Metadata: api.JSON(`{"b":"nul \u0000"}`)})
		h.do(&runs.CancelRun{RunID: "r"})
		head, err := h.store.SessionHead(h.ctx, "s")
		require.NoError(h, err)
		require.Equal(h, h.session("s").Session, *head)
		require.Equal(h, `{"a":1,"b":"nul \u0000"}`, string(head.Metadata))
		h.do(&runs.AmendSession{SessionID: "s", Metadata: api.JSON(`{"a":null,"b":null}`)})
		head, err = h.store.SessionHead(h.ctx, "s")
		require.NoError(h, err)
		require.Equal(h, `{}`, string(head.Metadata))
		for _, sessionID := range []string{"", "nobody", "nul\x00"} {
			_, err = h.store.SessionHead(h.ctx, sessionID)
			requireCode(h, api.CodeSessionNotFound, err)
		}
	},
	"session head/label and origin come with each request": func(h *harness) {
		wait := func(runID string, about *api.SessionAbout) {
			h.do(&runs.CreateRun{
				SessionID: "s", SessionGiven: true, RunID: runID, Kind: api.KindCall, Input: api.JSON(`1`), Session: about,
				Suspend: &api.Suspension{Approvals: approvals("a").Approvals},
			})
		}
		wait("r1", nil)
		wait("r2", &api.SessionAbout{Label: "nightly", Origin: &api.SessionOrigin{Project: "shop", Host: "ada"}})
		h.wait("other", "elsewhere", approvals("b"))
		requireAbout := func(label string) {
			pending := h.pending(reads.RequestQuery{Kind: model.KindApproval, Limit: 10, Budget: &reads.Budget{MaxBytes: 1 << 20}})
			require.Len(h, pending, 3)
			for _, one := range pending {
				want := label
				if one.Request.SessionID != "s" {
					want = ""
				}
				require.Equal(h, want, model.AboutOf(one.About).Label)
				found, err := h.store.DecisionByHandle(h.ctx, one.Request.Handle)
				require.NoError(h, err)
				require.Equal(h, one.About, found.About)
			}
			listed, err := h.store.Sessions(h.ctx, reads.SessionQuery{Limit: 10})
			require.NoError(h, err)
			require.Equal(h, label, listed[1].View().Label)
			names, err := h.store.SessionNames(h.ctx, []string{"s", "other"})
			require.NoError(h, err)
			named, other := names["s"], names["other"]
			require.Equal(h, label, named.View().Label)
			require.Nil(h, other.View())
			head, err := h.store.SessionHead(h.ctx, "s")
			require.NoError(h, err)
			require.Equal(h, "shop", model.AboutOf(head.About).Origin.Project)
		}
		requireAbout("nightly")
		h.do(&runs.AmendSession{SessionID: "s", Label: new("daily")})
		requireAbout("daily")
		h.do(&runs.ResolveApprovals{RunID: "r1", Resolutions: allow("a"), Actor: person})
		decided, err := h.store.Decisions(h.ctx, reads.DecisionQuery{Limit: 10})
		require.NoError(h, err)
		require.Equal(h, "daily", decided[0].View("", nil).Session.Label)
	},
	"session head/the parent comes with each request": func(h *harness) {
		h.do(&runs.Suspend{RunID: "r", Fence: h.child("r"), Suspension: approvals("a")})
		h.wait("parent", "above", approvals("b"))
		want := map[string]string{"child": "parent", "parent": ""}
		pending := h.pending(reads.RequestQuery{Kind: model.KindApproval, Limit: 10, Budget: &reads.Budget{MaxBytes: 1 << 20}})
		require.Len(h, pending, 2)
		for _, one := range pending {
			require.Equal(h, want[one.Request.SessionID], one.ApprovalView("").ParentSessionID)
			open, err := h.store.RequestByHandle(h.ctx, one.Request.Handle)
			require.NoError(h, err)
			require.Equal(h, one.ParentSessionID, open.ParentSessionID)
		}
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		decided, err := h.store.Decisions(h.ctx, reads.DecisionQuery{Limit: 10})
		require.NoError(h, err)
		require.Equal(h, "parent", decided[0].View("", nil).ParentSessionID)
	},
	"requests/open ones with an input, within a scope": func(h *harness) {
		for n, session := range []string{"team-a", "team-b", "team-c"} {
			h.do(&runs.CreateRun{
				SessionID: session, SessionGiven: true, RunID: numbered("r", n), Kind: api.KindCall, Input: api.JSON(`1`),
				Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{
					{ID: "same", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"ls"}`)},
					{ID: "other", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"` + session + `"}`)},
				}},
			})
		}
		all := h.pending(reads.RequestQuery{Kind: model.KindApproval, Limit: 10})
		require.Len(h, all, 6)
		foundIn := func(within reads.Reader, q reads.RequestQuery) (sessions []string) {
			q.Kind, q.Budget = model.KindApproval, &reads.Budget{MaxBytes: 1 << 20}
			rows, err := within.PendingRequests(h.ctx, q)
			require.NoError(h, err)
			for _, row := range rows {
				require.Equal(h, "same", row.Request.RequestID)
				sessions = append(sessions, row.Request.SessionID)
			}
			return sessions
		}
		found := func(q reads.RequestQuery) []string { return foundIn(h.store, q) }
		digest := all[1].Request.Approval().InputDigest
		require.Equal(h, []string{"team-a", "team-b", "team-c"}, found(reads.RequestQuery{InputDigest: digest, Limit: 10}))
		require.Equal(h, []string{"team-a"}, found(reads.RequestQuery{InputDigest: digest, Limit: 1}))
		require.Equal(h, []string{"team-b"}, foundIn(h.store.Within(reads.Scope{SessionPrefixes: []string{"team-b"}}), reads.RequestQuery{InputDigest: digest, Limit: 10}))
		h.do(&runs.ResolveApprovals{RunID: numbered("r", 0), Resolutions: allow("same"), Actor: person})
		require.Equal(h, []string{"team-b", "team-c"}, found(reads.RequestQuery{InputDigest: digest, Limit: 10}))
	},
	"requests/a search for an input reads a limited number of bytes": func(h *harness) {
		const size, calls = 1_000_000, 12
		for n := range calls {
			h.do(&runs.CreateRun{
				SessionID: numbered("s", n), SessionGiven: true, RunID: numbered("r", n), Kind: api.KindCall, Input: api.JSON(`1`),
				Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{
					{ID: "large", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"` + strings.Repeat("x", size) + `"}`)},
				}},
			})
		}
		first := h.pending(reads.RequestQuery{Kind: model.KindApproval, Limit: 1})
		found, err := h.store.PendingRequests(h.ctx, reads.RequestQuery{
			Kind: model.KindApproval, InputDigest: first[0].Request.Approval().InputDigest, Limit: calls, Budget: &reads.Budget{MaxBytes: 2 * size * calls},
		})
		require.NoError(h, err)
		count := len(found) // not the rows, which are large
		require.Equal(h, api.MaxSearchedBytes/size, count)
	},
	"session head/metadata stays with everything else that is written": func(h *harness) {
		h.do(&runs.CreateSession{SessionID: "s", Metadata: api.JSON(`{"a":1}`)})
		each(h, 40, func(n int) error {
			if n%4 == 0 {
				_, err := h.store.Do(h.ctx, &runs.AmendSession{SessionID: "s", Metadata: api.JSON(`{"` + numbered("m", n) + `":1}`)})
				return err
			}
			_, err := h.store.Do(h.ctx, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`)})
			return err
		})
		head, err := h.store.SessionHead(h.ctx, "s")
		require.NoError(h, err)
		for n := range 10 {
			require.Contains(h, string(head.Metadata), numbered("m", 4*n))
		}
	},
	"requests/the oldest of a session": func(h *harness) {
		oldest := func(q reads.RequestQuery) string {
			q.Kind, q.SessionID, q.Oldest = model.KindApproval, "s", true
			list := h.pending(q)
			require.LessOrEqual(h, len(list), 1)
			if len(list) == 0 {
				return ""
			}
			require.Equal(h, model.DefaultAgentID, list[0].AgentID)
			return list[0].Request.RequestID
		}
		require.Empty(h, oldest(reads.RequestQuery{}))
		fence := h.started("s", "r")
		for n := range 12 {
			// The order of the ids differs from the order of time.
			h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: api.Suspension{Hold: true, Approvals: approvals(numbered("a", 99-n)).Approvals}})
		}
		h.wait("other", "elsewhere", approvals("first"))
		for n := range 12 {
			require.Equal(h, numbered("a", 99-n), oldest(reads.RequestQuery{}))
			require.Equal(h, numbered("a", 99-n), oldest(reads.RequestQuery{RunID: "r"}))
			count, err := h.store.CountPendingRequests(h.ctx, reads.RequestQuery{Kind: model.KindApproval, SessionID: "s", RunID: "r"})
			require.NoError(h, err)
			require.EqualValues(h, 12-n, count)
			h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow(numbered("a", 99-n)), Actor: person})
		}
		require.Empty(h, oldest(reads.RequestQuery{}))
		require.Empty(h, oldest(reads.RequestQuery{RunID: "elsewhere"}), "a run of another session")
		require.Empty(h, oldest(reads.RequestQuery{RunID: "\x00"}))
	},
	"parts/wait for the others": func(h *harness) {
		suspension := twoQuestions("q")
		due := h.clock.NowMs() + 1_000
		suspension.Questions[0].ExpiresAtMs = &due
		h.wait("s", "r", suspension)
		h.do(part("speed"))
		open := h.run("r").Requests[0]
		require.NotNil(h, open.PartialAnswers)
		require.True(h, open.Open())
		require.Equal(h, due, open.DueAtMs)
		list := h.pending(reads.RequestQuery{Kind: model.KindQuestion, Limit: 10})
		require.Len(h, list, 1)
		require.Equal(h, open, list[0].Request)
		h.refuse(api.CodeQuestionStateConflict, part("speed"))
		h.do(part("route"))
		settled := h.settledAfter("r", 0)
		require.Equal(h, api.OutcomeAnswered, settled[0].Outcome)
		require.Nil(h, settled[0].PartialAnswers)
		require.Equal(h, []string{"r"}, h.claimable())
	},
	"acknowledgement/is shown until the decision": func(h *harness) {
		h.wait("s", "r", approvals("a", "b"))
		handle := h.run("r").Requests[0].Handle
		look := func(by string, state api.AcknowledgementState) *runs.AcknowledgeRequest {
			return &runs.AcknowledgeRequest{RunID: "r", RequestID: "a", Handle: handle, State: state, Actor: runs.Actor{Name: by}}
		}
		h.do(look("ada", api.Acknowledged))
		h.do(look("ben", api.Acknowledged))
		require.True(h, h.do(look("ben", api.Acknowledged)).Existing)
		list := h.pending(reads.RequestQuery{Kind: model.KindApproval, Limit: 10})
		shown := list[0].ApprovalView("").Acknowledgement
		require.Len(h, shown, 2)
		require.Equal(h, api.Acknowledgement{
			By: "ada", State: api.Acknowledged, AtMs: h.clock.NowMs(), UntilMs: h.clock.NowMs() + api.DefaultAcknowledgementMs,
		}, shown[0])
		require.Empty(h, list[1].ApprovalView("").Acknowledgement)
		found, err := h.store.RequestByHandle(h.ctx, handle)
		require.NoError(h, err)
		require.Equal(h, list[0].Request, found.Request)
		h.do(look("ada", api.NotAcknowledged))
		h.do(look("ben", api.NotAcknowledged))
		require.Nil(h, h.run("r").Requests[0].Acknowledgement)

		h.do(look("ada", api.Acknowledged))
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		settled := h.settledAfter("r", 0)
		require.Nil(h, settled[0].Acknowledgement)
		refused := h.refuse(api.CodeRequestSettled, look("ben", api.Acknowledged))
		require.Equal(h, api.OutcomeAllowed, refused.Recorded.Outcome)
		unknown := look("ben", api.Acknowledged)
		unknown.RequestID, unknown.Handle = "nul\x00", "nul\x00"
		h.refuse(api.CodeRequestNotFound, unknown)
	},
	"escalation/its progress is kept until the decision": func(h *harness) {
		raised := approvals("a")
		raised.Approvals[0].Escalation = &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"role:admin"}}, {AfterMs: 60_000, Notify: []string{"role:admin"}}}}
		h.wait("s", "r", raised)
		request := func() *model.Request { return &h.run("r").Requests[0] }
		first := request().Progress()
		require.Equal(h, model.EscalationState{NextAtMs: h.clock.NowMs()}, first)
		list := h.pending(reads.RequestQuery{Kind: model.KindApproval, Limit: 10})
		require.Equal(h, first, list[0].Request.Progress())
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		settled := h.settledAfter("r", 0)
		require.Nil(h, settled[0].EscalationState)
	},
	"parts/questions without an answer are counted": func(h *harness) {
		count := func() int64 {
			n, err := h.store.CountPendingRequests(h.ctx, reads.RequestQuery{Kind: model.KindQuestion, SessionID: "s", EachQuestion: true})
			require.NoError(h, err)
			return n
		}
		require.Zero(h, count())
		suspension := twoQuestions("q")
		typed := question("typed")
		typed.Questions, typed.ResponseSchema, typed.Payload = nil, api.JSON(`{"type":"object"}`), api.JSON(`{"questions":[1,2,3]}`)
		hostile := question("hostile")
		hostile.Questions[0].Question = `"questions":[]} \u0000 'x`
		hostile.Metadata = api.JSON(`{"response_schema":{},"a\u0000":"\ud83d\ude00 1e400"}`)
		suspension.Questions = append(suspension.Questions, typed, hostile)
		h.wait("s", "r", suspension)
		h.wait("other", "elsewhere", twoQuestions("p"))
		require.EqualValues(h, 4, count())
		h.do(part("speed"))
		require.EqualValues(h, 3, count())
		h.do(part("route"))
		require.EqualValues(h, 2, count())
		h.do(&runs.AnswerQuestion{RunID: "r", Actor: person, Resolution: runs.QuestionAnswer{RequestID: "typed", Value: api.JSON(`{}`)}})
		require.EqualValues(h, 1, count())
		h.do(&runs.AnswerQuestion{RunID: "r", Actor: person, Resolution: answer("hostile", "left")})
		require.Zero(h, count())
	},
	"parts/expire with their request": func(h *harness) {
		suspension := twoQuestions("q")
		due := h.clock.NowMs() + 1_000
		suspension.Questions[0].ExpiresAtMs = &due
		h.wait("s", "r", suspension)
		h.do(part("speed"))
		h.clock.Advance(1_000)
		list, err := h.store.Due(h.ctx, 10)
		require.NoError(h, err)
		require.Equal(h, []reads.DueRun{{RunID: "r", SessionID: "s"}}, list)
		h.refuse(api.CodeQuestionExpired, part("route"))
	},
	"reads/end with their context": func(h *harness) {
		h.wait("s", "r", approvals("a"))
		h.addRule("", "l", anyInput)
		handle := h.run("r").Requests[0].Handle
		ctx, cancel := context.WithCancel(h.ctx)
		cancel()
		for name, read := range map[string]func() error{
			"RequestByHandle": func() error { _, err := h.store.RequestByHandle(ctx, handle); return err },
			"SessionHead":     func() error { _, err := h.store.SessionHead(ctx, "s"); return err },
			"Rule":            func() error { _, err := h.store.Rule(ctx, "l"); return err },
			"Rules":           func() error { _, err := h.store.Rules(ctx, reads.RuleQuery{Limit: 1}); return err },
			"CountRules":      func() error { _, err := h.store.CountRules(ctx, reads.RuleQuery{}); return err },
			"RulesFor":        func() error { _, _, err := h.store.RulesFor(ctx, "s", 1, &reads.Budget{}); return err },
		} {
			require.ErrorIs(h, read(), context.Canceled, name)
		}
	},
}
