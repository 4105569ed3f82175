package runs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		" k ": "k", "a b": "a b", "ключ": "ключ", strings.Repeat("x", 256): strings.Repeat("x", 256), "\tk\n": "k",
	} {
		got, err := refusal.CheckIdempotencyKey(given)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"", "  ", strings.Repeat("x", 257), "a\x00b", "a\nb", "a\x7fb", "a\u0085b", "a\xffb"} {
		_, err := refusal.CheckIdempotencyKey(bad)
		requireCode(t, api.CodeInvalidIdempotencyKey, err)
	}
}

// The fingerprint is the SHA-256 of the RFC 8785 form of operation, target and body, as
// another library encodes it.
func TestFingerprint(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	h.must(keyed(&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{{
		RequestID: "a", Behavior: "allow", Reason: "ünïcode <&>\u2028", UpdatedInput: api.JSON(`{ "z": 1.50, "ö": [1e2, null], "a": "\u00e9\n" }`),
	}}}, "k"))
	body := map[string]any{
		"operation": "approval", "target": "r",
		"body": map[string]any{"resolutions": []any{map[string]any{
			"request_id": "a", "behavior": "allow", "reason": "ünïcode <&>\u2028",
			"updated_input": map[string]any{"z": 1.5, "ö": []any{100, nil}, "a": "é\n"},
		}}},
	}
	text, err := json.Marshal(body)
	require.NoError(t, err)
	canonical, err := jcs.Transform(text)
	require.NoError(t, err)
	sum := sha256.Sum256(canonical)
	key := model.RecordKey{Operation: model.OperationApproval, Scope: "s", IdempotencyKey: "k"}
	require.Equal(t, hex.EncodeToString(sum[:]), h.states["s"].Records[key].Fingerprint)
	require.Equal(t, "r", h.states["s"].Records[key].RunID)
}

// calls are pairs of the same keyed call in two spellings.
func TestSamePayload(t *testing.T) {
	t.Parallel()
	decide := func(resolutions ...runs.ApprovalDecision) runs.Command {
		return keyed(&runs.ResolveApprovals{RunID: "r", Resolutions: resolutions}, "k")
	}
	reply := func(resolution runs.QuestionAnswer) runs.Command {
		return &runs.AnswerQuestion{RunID: "r", Resolution: resolution, Key: "k"}
	}
	allowA := runs.ApprovalDecision{RequestID: "a", Behavior: "allow"}
	with := func(input string) runs.ApprovalDecision {
		return runs.ApprovalDecision{RequestID: "a", Behavior: "allow", UpdatedInput: api.JSON(input)}
	}
	allowB := runs.ApprovalDecision{RequestID: "b", Behavior: "allow"}
	one := runs.QuestionAnswer{RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: "route", SelectedOptionIDs: []string{"north"}}}}
	free := runs.QuestionAnswer{RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: "route", FreeformAnswer: "x"}}}
	freeToo := runs.QuestionAnswer{RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: "route", FreeformAnswer: "x", SelectedOptionIDs: []string{}}}}
	no := runs.QuestionAnswer{RequestID: "q", Declined: true}
	noToo := runs.QuestionAnswer{RequestID: "q", Declined: true, Answers: []api.UserQuestionAnswer{}, Value: api.JSON(`null`)}
	for name, test := range map[string]struct {
		first, again runs.Command
		same         bool
	}{
		"member order":          {decide(with(`{"x":1,"y":{"a":2,"b":3}}`)), decide(with(`{"y":{"b":3,"a":2},"x":1.0}`)), true},
		"null is absent":        {decide(allowA), decide(with(`null`)), true},
		"null inside counts":    {decide(with(`{"x":null}`)), decide(with(`{}`)), false},
		"array order":           {decide(allowA, allowB), decide(allowB, allowA), false},
		"order in input":        {decide(with(`[1,2]`)), decide(with(`[2,1]`)), false},
		"another behavior":      {decide(allowA), decide(runs.ApprovalDecision{RequestID: "a", Behavior: "deny"}), false},
		"another reason":        {decide(allowA), decide(runs.ApprovalDecision{RequestID: "a", Behavior: "allow", Reason: "r"}), false},
		"defaults of an answer": {reply(free), reply(freeToo), true},
		"defaults of a decline": {reply(no), reply(noToo), true},
		"another answer":        {reply(one), reply(free), false},
		"another decision":      {reply(one), reply(no), false},
		"question cancel": {
			&runs.CancelQuestion{RunID: "r", RequestID: "q", Justification: "j", Key: "k"},
			&runs.CancelQuestion{RunID: "r", RequestID: "q", Justification: "j", Key: " k "}, true,
		},
		"another justification": {
			&runs.CancelQuestion{RunID: "r", RequestID: "q", Justification: "j", Key: "k"},
			&runs.CancelQuestion{RunID: "r", RequestID: "q", Key: "k"}, false,
		},
		"another question": {
			&runs.CancelQuestion{RunID: "r", RequestID: "q", Key: "k"}, &runs.CancelQuestion{RunID: "r", RequestID: "p", Key: "k"}, false,
		},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", approval("a"), approval("b"), question("q"), question("p"))
			require.False(t, h.must(test.first).Replayed)
			reply, change, err := h.decide(test.again)
			require.True(t, change.Empty())
			if !test.same {
				refusal := requireCode(t, api.CodeIdempotencyConflict, err)
				require.Equal(t, "run operation idempotency key was reused with a different request payload", refusal.Detail)
				return
			}
			require.NoError(t, err)
			require.Equal(t, runs.Reply{Replayed: true, ReplayRunID: "r"}, reply)
		})
	}
}

// The same key on the session's route and the run's route is a replay, even if the run ended
// long ago and another one is active.
func TestReplayOverBothRoutes(t *testing.T) {
	t.Parallel()
	for _, sessionFirst := range []bool{true, false} {
		h := newHouse(t)
		approve := func(session bool) *runs.ResolveApprovals {
			if session {
				return keyed(approveInSession(allow("", "a")), "k")
			}
			return keyed(allow("r", "a"), "k")
		}
		reply := func(session bool) *runs.AnswerQuestion {
			command := answer("r", "q", "north")
			if session {
				command = answerInSession(command)
			}
			command.Key = "k" // the same key in another family of calls is another key
			return command
		}
		h.wait("r", approval("a"), question("q"))
		h.must(approve(sessionFirst))
		h.must(reply(sessionFirst))
		check := func() {
			t.Helper()
			for _, session := range []bool{true, false} {
				require.Equal(t, "r", h.must(approve(session)).ReplayRunID)
				require.Equal(t, "r", h.must(reply(session)).ReplayRunID)
			}
		}
		check()
		h.must(&runs.CancelRun{RunID: "r"})
		check()
		h.wait("next", approval("a"), question("q"))
		check()
		// The key is bound to the run.
		h.refused(api.CodeIdempotencyConflict, keyed(allow("next", "a"), "k"))
		require.Equal(t, api.StatusWaitingForUserQuestion, h.run("next").Status)
		// In another session the key is unused.
		h.must(&runs.CreateRun{SessionID: "t", SessionGiven: true, RunID: "else", Input: api.JSON(`1`), Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}}})
		require.False(t, h.must(keyed(allow("else", "a"), "k")).Replayed)
	}
}

// A refused call leaves no record: the key may be used again with a corrected body.
func TestRefusedCallLeavesItsKey(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), question("q"))
	h.refused(api.CodeApprovalNotPending, keyed(allow("r", "x"), "k"))
	require.False(t, h.must(keyed(allow("r", "a"), "k")).Replayed)
	wrong := answer("r", "q", "none")
	wrong.Key = "k"
	h.refused(api.CodeQuestionOptionNotFound, wrong)
	right := answer("r", "q", "north")
	right.Key = "k"
	require.False(t, h.must(right).Replayed)
	h.refused(api.CodeSessionBusy, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Key: "k", Inline: true})
	require.False(t, h.must(&runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`2`), Key: "k"}).Replayed)
}

func TestCreateRunWithKey(t *testing.T) {
	t.Parallel()
	create := func(change func(*runs.CreateRun)) *runs.CreateRun {
		command := &runs.CreateRun{SessionID: "s", SessionGiven: true, Key: "k", Caller: "ann", Input: api.JSON(`{"a":1,"b":2}`)}
		change(command)
		return command
	}
	same := func(*runs.CreateRun) {}
	noSession := func(c *runs.CreateRun) { c.SessionID, c.SessionGiven = "", false }
	h := newHouse(t)
	first := h.must(create(same)).Run.Run.RunID
	for name, change := range map[string]func(*runs.CreateRun){
		"same":         same,
		"member order": func(c *runs.CreateRun) { c.Input = api.JSON(`{"b":2,"a":1}`) },
		"defaults": func(c *runs.CreateRun) {
			c.Kind, c.SourcePlugin, c.SourceKind, c.Metadata = "input", "daemon", "api", api.JSON(`null`)
		},
		"another caller": func(c *runs.CreateRun) { c.Caller = "bob" },
	} {
		reply := h.must(create(change))
		require.True(t, reply.Replayed, name)
		require.Equal(t, first, reply.ReplayRunID, name)
	}
	for name, change := range map[string]func(*runs.CreateRun){
		"input":    func(c *runs.CreateRun) { c.Input = api.JSON(`{}`) },
		"run id":   func(c *runs.CreateRun) { c.RunID = "chosen" },
		"agent":    func(c *runs.CreateRun) { c.AgentID = "coder" },
		"metadata": func(c *runs.CreateRun) { c.Metadata = api.JSON(`{}`) },
		"source":   func(c *runs.CreateRun) { c.SourceKind = "cli" },
		"claim":    func(c *runs.CreateRun) { c.Claim = &api.ClaimOptions{WorkerID: "w"} },
		"suspend": func(c *runs.CreateRun) {
			c.Suspend = &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}}
		},
	} {
		_, err := h.do(create(change))
		require.Equal(t, api.CodeIdempotencyConflict, refusal.CodeOf(err), name)
	}
	// Without a session in the call the scope is the caller.
	made := h.must(create(noSession)).Run.Run
	require.NotEqual(t, "s", made.SessionID)
	replay := h.must(create(noSession))
	require.True(t, replay.Replayed)
	require.Equal(t, made.RunID, replay.ReplayRunID)
	require.False(t, h.must(create(func(c *runs.CreateRun) { noSession(c); c.Caller = "bob" })).Replayed)
	h.refused(api.CodeIdempotencyConflict, create(func(c *runs.CreateRun) { noSession(c); c.Input = api.JSON(`1`) }))
	// It is a replay even if the session has ended since.
	h.must(&runs.EndSession{SessionID: "s"})
	require.True(t, h.must(create(same)).Replayed)
}

// Absent members and members that the service ignores make no difference to a run that is
// created suspended.
func TestCreateWaitingRunWithKey(t *testing.T) {
	h := parallelHouse(t)
	create := func(suspension api.Suspension, leaseMs int64) *runs.CreateRun {
		return &runs.CreateRun{
			SessionID: "s", SessionGiven: true, Key: "k", Input: api.JSON(`1`),
			Claim: &api.ClaimOptions{WorkerID: "w", LeaseMs: leaseMs}, Suspend: &suspension,
		}
	}
	plain := func() api.Suspension {
		return api.Suspension{
			Approvals: []api.ApprovalRequest{approval("a")},
			Questions: []api.UserQuestionRequest{{ToolCallID: "c", Questions: []api.UserQuestion{{Question: "?"}}}},
		}
	}
	h.must(create(plain(), 0))
	wordy := plain()
	wordy.Checkpoint = api.JSON(`null`)
	wordy.Approvals[0].Handle, wordy.Approvals[0].CreatedAtMs, wordy.Approvals[0].Metadata = "mine", 5, api.JSON(`null`)
	wordy.Questions[0] = api.UserQuestionRequest{
		ID: "question-request-c", ToolCallID: "c", CreatedAtMs: 9, ResponseSchema: api.JSON(`null`),
		Questions: []api.UserQuestion{{ID: "question-1", Header: "Question 1", Question: "?", Options: []api.QuestionOption{}}},
	}
	require.True(t, h.must(create(wordy, api.DefaultLeaseMs)).Replayed)
	other := plain()
	other.Approvals[0].Reason = "because"
	h.refused(api.CodeIdempotencyConflict, create(other, 0))
}

// A caller-chosen id alone makes the call idempotent.
func TestChosenRunID(t *testing.T) {
	t.Parallel()
	create := func(session, input string) *runs.CreateRun {
		return &runs.CreateRun{SessionID: session, SessionGiven: session != "", RunID: "r", Input: api.JSON(input)}
	}
	h := newHouse(t)
	h.must(create("s", `{"a":1,"b":2}`))
	reply, change := h.decided(create("s", `{"b":2,"a":1}`))
	require.Equal(t, runs.Reply{Existing: true, ReplayRunID: "r"}, reply)
	require.True(t, change.Empty())
	refusal := h.refused(api.CodeIDConflict, create("s", `{}`))
	require.Equal(t, "run r exists with another payload", refusal.Detail)
	// The run may be in a session that the call does not name.
	require.True(t, h.must(create("", `{"a":1,"b":2}`)).Existing)
	h.refused(api.CodeIDConflict, create("t", `{"a":1,"b":2}`))
	// A key takes precedence over a chosen id: the same key is a replay, and the same id without it
	// is Existing.
	withKey := create("s", `{"a":1,"b":2}`)
	withKey.RunID, withKey.Key = "x", "k"
	h.must(withKey)
	again := create("s", `{"a":1,"b":2}`)
	again.RunID, again.Key = "x", "k"
	reply = h.must(again)
	require.True(t, reply.Replayed)
	require.False(t, reply.Existing)
	again = create("s", `{"a":1,"b":2}`)
	again.RunID = "x"
	reply = h.must(again)
	require.True(t, reply.Existing)
	require.False(t, reply.Replayed)
}

// Events that differ only in their type are another payload.
func TestKeyCoversTheTypesOfEvents(t *testing.T) {
	h := parallelHouse(t).start("r")
	appended := func(event string) *runs.AppendEvents {
		return &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(event)}, IdempotencyKey: "k"}
	}
	first := h.must(appended(`{"type":"note","text":"a"}`))
	require.Equal(t, first.LastEventID, h.must(appended(`{"text":"a","type":"note"}`)).LastEventID)
	for _, other := range []string{`{"type":"delta","text":"a"}`, `{"type":"note","text":"b"}`} {
		h.refused(api.CodeIdempotencyConflict, appended(other))
	}
}

// A call is recorded with an earlier time than its run was created at. A repetition is a replay.
func TestReplayAfterTheClockWasSetBack(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	h.nowMs -= 60_000
	approve := func() *runs.ResolveApprovals { return keyed(allow("r", "a"), "k") }
	h.must(approve())
	require.True(t, h.must(approve()).Replayed)

	h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
	appended := func() *runs.AppendEvents {
		return &runs.AppendEvents{RunID: "r", Fence: h.run("r").Fence, Events: []api.JSON{api.JSON(`{"type":"note"}`)}, IdempotencyKey: "k"}
	}
	h.must(appended())
	require.True(t, h.must(appended()).Replayed)
	h.must(&runs.Fail{RunID: "r", Fence: h.run("r").Fence, Error: "broken"})
	h.must(&runs.RetryRun{RunID: "r", Key: "k"})
	require.True(t, h.must(&runs.RetryRun{RunID: "r", Key: "k"}).Existing)
	h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
	release := &runs.Release{RunID: "r", Fence: h.run("r").Fence}
	h.must(release)
	require.True(t, h.must(release).Existing)
}
