package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

func TestApprovalDecisions(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), approval("b"), approval("c"))
	command := &runs.ResolveApprovals{RunID: "r", Actor: runs.Actor{Name: "ann", Via: "cli"}, Resolutions: []runs.ApprovalDecision{
		{RequestID: "b", Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"ls -l"}`), Justification: "looked at it"},
		{RequestID: "a", Behavior: api.BehaviorDeny, UpdatedInput: api.JSON(`1`), Reason: "no"},
	}}
	reply := h.must(command)

	// Some of the open approvals may be decided: the rest stays open, and the run continues
	// once, when none is open.
	require.Equal(t, api.StatusWaitingForApproval, reply.Run.Run.Status)
	require.Equal(t, []string{"c"}, reply.Run.View().PendingApprovalIDs)
	require.Equal(t, api.Resolution{
		RequestID: "b", Outcome: api.OutcomeAllowed, Behavior: api.BehaviorAllow,
		UpdatedInput: api.JSON(`{"command":"ls -l"}`), Justification: "looked at it",
		ResolvedBy: "ann", ResolvedAtMs: startMs, Via: "cli",
	}, h.request("r", "b").Recorded())
	require.Equal(t, api.Resolution{
		RequestID: "a", Outcome: api.OutcomeDenied, Behavior: api.BehaviorDeny,
		UpdatedInput: api.JSON(`1`), Reason: "no", ResolvedBy: "ann", ResolvedAtMs: startMs, Via: "cli",
	}, h.request("r", "a").Recorded())

	reply = h.must(deny("r", "c"))
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	require.Equal(t, api.KindInput, reply.Run.Run.Kind, "a resume never rewrites the kind")
	require.Equal(t, api.DefaultActorID, h.request("r", "c").Recorded().ResolvedBy)
	require.Equal(t, api.ViaAPI, h.request("r", "c").Recorded().Via)
	// One event per batch, and one start when the run continues.
	require.Equal(t, []api.EventType{
		"accepted", "queued", "started", "waiting_for_approval", "approval_resolved", "approval_resolved", "started",
	}, h.eventTypes("r"))
}

// The first failure in the order of docs/spec/v1.md#order-for-approvals is the error.
func TestApprovalChecksInOrder(t *testing.T) {
	t.Parallel()
	tooLong := runs.ApprovalDecision{RequestID: "a", Behavior: "maybe"}
	for _, test := range []struct {
		name   string
		setUp  func(h *house)
		given  *runs.ResolveApprovals
		code   api.Code
		detail string
	}{
		{
			"a body that does not fit its schema comes before a bad key", nil,
			&runs.ResolveApprovals{RunID: "r", Key: "\x00", Resolutions: []runs.ApprovalDecision{tooLong}},
			api.CodeInvalidRequest, `/resolutions/0/behavior: must be "allow" or "deny"`,
		},
		{
			"a bad key comes before an unknown run", nil,
			keyed(allow("nobody", "a"), "\x00"),
			api.CodeInvalidIdempotencyKey, "the idempotency key must not hold control characters",
		},
		{"an unknown run comes before an empty batch", nil, allow("nobody"), api.CodeRunNotFound, "unknown run nobody"},
		{
			"an unknown session comes before an empty batch", nil,
			&runs.ResolveApprovals{SessionID: "nobody", Resolutions: []runs.ApprovalDecision{}},
			api.CodeSessionNotFound, "unknown session nobody",
		},
		{
			"a session without an active run comes before an empty batch",
			func(h *house) { h.create("r") },
			approveInSession(allow("")),
			api.CodeRunStateConflict, "session s has no active run",
		},
		{
			"a run that is over comes before an empty batch",
			func(h *house) { h.create("r"); h.must(&runs.CancelRun{RunID: "r"}) },
			allow("r"), api.CodeRunStateConflict, "run r is already cancelled",
		},
		{
			"a run that does not wait comes before an empty batch",
			func(h *house) { h.start("r") }, allow("r"),
			api.CodeApprovalStateConflict, "run r is not waiting for approval",
		},
		{
			"a run that waits for a question only comes before an unknown id",
			func(h *house) { h.wait("r", question("q")) }, allow("r", "nothing"),
			api.CodeApprovalStateConflict, "run r is not waiting for approval",
		},
		{
			"an empty batch", func(h *house) { h.wait("r", approval("a")) }, allow("r"),
			api.CodeApprovalBatchEmpty, "approval resolution batch must not be empty",
		},
		{
			"an id twice comes before an unknown id after it",
			func(h *house) { h.wait("r", approval("a"), approval("b")) }, allow("r", "a", "a", "x"),
			api.CodeApprovalDuplicate, "duplicate approval resolution for request a",
		},
		{
			"an unknown id comes before an id twice after it",
			func(h *house) { h.wait("r", approval("a"), approval("b")) }, allow("r", "x", "a", "a"),
			api.CodeApprovalNotPending, "approval resolution references unknown pending request x",
		},
		{
			"an unknown id twice is unknown first",
			func(h *house) { h.wait("r", approval("a")) }, allow("r", "x", "x"),
			api.CodeApprovalNotPending, "approval resolution references unknown pending request x",
		},
		{
			"an empty and impossible id is an unknown one",
			func(h *house) { h.wait("r", approval("a")) }, allow("r", "no such id\n"),
			api.CodeApprovalNotPending, "approval resolution references unknown pending request no such id\n",
		},
		{
			"the id of a question is unknown",
			func(h *house) { h.wait("r", approval("a"), question("q")) }, allow("r", "a", "q"),
			api.CodeApprovalNotPending, "approval resolution references unknown pending request q",
		},
		{
			"an unknown id comes before input that does not fit",
			func(h *house) { h.wait("r", withInputSchema("a"), approval("b")) },
			&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
				{RequestID: "a", Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{}`)}, {RequestID: "x", Behavior: api.BehaviorDeny},
			}},
			api.CodeApprovalNotPending, "approval resolution references unknown pending request x",
		},
		{
			"a malformed digest is at fault",
			func(h *house) { h.wait("r", approval("a")) },
			&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
				{RequestID: "a", Behavior: api.BehaviorAllow, InputDigest: "7f0c"},
			}},
			api.CodeInvalidRequest, `/resolutions/0/input_digest: must be 64 hexadecimal digits in lower case, with or without "sha256:" before them`,
		},
		{
			"an unknown id comes before another input",
			func(h *house) { h.wait("r", approval("a"), approval("b")) },
			&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
				{RequestID: "a", Behavior: api.BehaviorAllow, InputDigest: digestOf(`0`)}, {RequestID: "x", Behavior: api.BehaviorDeny},
			}},
			api.CodeApprovalNotPending, "approval resolution references unknown pending request x",
		},
		{
			"another input comes before input that does not fit",
			func(h *house) { h.wait("r", withInputSchema("a"), approval("b")) },
			&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
				{RequestID: "a", Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{}`)},
				{RequestID: "b", Behavior: api.BehaviorDeny, InputDigest: digestOf(`0`)},
			}},
			api.CodeApprovalChanged, "the open request b is not the one that was decided about",
		},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			if test.setUp != nil {
				test.setUp(h)
			}
			refusal := h.refused(test.code, test.given)
			require.Equal(t, test.detail, refusal.Detail)
			require.Nil(t, refusal.Recorded)
		})
	}
}

func keyed(command *runs.ResolveApprovals, key string) *runs.ResolveApprovals {
	command.Key = key
	return command
}

func withInputSchema(id string) api.ApprovalRequest {
	request := approval(id)
	request.InputSchema = api.JSON(`{"type":"object","required":["command"],"properties":{"command":{"type":"string"},"n":{"type":"integer"}}}`)
	return request
}

// A batch with one invalid item at any position changes nothing.
func TestApprovalBatchIsAtomic(t *testing.T) {
	t.Parallel()
	good := []string{"a", "b", "c"}
	for place := range 4 {
		for _, bad := range []string{"unknown", "settled", "a", "q"} {
			h := newHouse(t).wait("r", approval("a"), approval("b"), approval("c"), approval("settled"), question("q"))
			h.must(allow("r", "settled"))
			ids := append(append(append([]string{}, good[:place]...), bad), good[place:]...)
			_, change, err := h.decide(allow("r", ids...))
			require.Error(t, err)
			require.True(t, change.Empty())
			h.flush()
			require.Len(t, h.record("r").View().PendingApprovalIDs, 3)
		}
	}
}

// Edited input is checked against its request's schema, but only for an allow.
func TestUpdatedInputAgainstItsSchema(t *testing.T) {
	h := parallelHouse(t).wait("r", withInputSchema("a"), withInputSchema("b"), approval("free"))
	edit := func(id string, behavior api.Behavior, input string) runs.ApprovalDecision {
		return runs.ApprovalDecision{RequestID: id, Behavior: behavior, UpdatedInput: api.JSON(input)}
	}
	refusal := h.refused(api.CodeInvalidRequest, &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
		edit("a", "allow", `{"command":"ok"}`), edit("b", "allow", `{"command":7,"n":1.5}`),
	}})
	pointers := []string{}
	for _, fault := range refusal.Faults {
		pointers = append(pointers, fault.Pointer)
	}
	require.ElementsMatch(t, []string{"/resolutions/1/updated_input/command", "/resolutions/1/updated_input/n"}, pointers)

	refusal = h.refused(api.CodeInvalidRequest, &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{edit("a", "allow", `{}`)}})
	require.Equal(t, "/resolutions/0/updated_input", refusal.Faults[0].Pointer)

	reply := h.must(&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
		edit("a", "deny", `"anything"`), edit("b", "allow", `null`), edit("free", "allow", `[1]`),
	}})
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	require.Nil(t, h.request("r", "b").Recorded().UpdatedInput, "null is absent")
	require.Equal(t, `[1]`, string(h.request("r", "free").Recorded().UpdatedInput))
}

func TestApprovalBodies(t *testing.T) {
	t.Parallel()
	long := string(make([]byte, api.MaxTextLength+1))
	refusal := newHouse(t).refused(api.CodeInvalidRequest, &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
		{Behavior: "allow"}, {RequestID: "a"}, {RequestID: "b", Behavior: "deny", Reason: long, Justification: "\x00"},
	}})
	require.Equal(t, []api.Fault{
		{Pointer: "/resolutions/0/request_id", Detail: "is required"},
		{Pointer: "/resolutions/1/behavior", Detail: `must be "allow" or "deny"`},
		{Pointer: "/resolutions/2/justification", Detail: "must not hold control characters"},
		{Pointer: "/resolutions/2/reason", Detail: "must have at most 16384 bytes"},
	}, refusal.Faults)

	refusal = newHouse(t).refused(api.CodeInvalidRequest, &runs.ResolveApprovals{RunID: "r"})
	require.Equal(t, []api.Fault{{Pointer: "/resolutions", Detail: "is required"}}, refusal.Faults)

	many := &runs.ResolveApprovals{RunID: "r", Resolutions: make([]runs.ApprovalDecision, api.MaxResolutionsPerBatch+1)}
	refusal = newHouse(t).refused(api.CodeInvalidRequest, many)
	require.Equal(t, []api.Fault{{Pointer: "/resolutions", Detail: "must have at most 1000 entries"}}, refusal.Faults)
}

// A late decision: docs/spec/v1.md#late-decisions.
func TestLateApproval(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), approval("b"), approval("c"))
	h.must(allow("r", "a"))
	h.must(deny("r", "b"))

	refusal := h.refused(api.CodeApprovalNotPending, allow("r", "c", "b", "a"))
	requireRecorded(t, refusal, "b", api.OutcomeDenied, api.ViaAPI)

	h.must(allow("r", "c"))
	refusal = h.refused(api.CodeApprovalStateConflict, allow("r", "unknown", "b", "a"))
	requireRecorded(t, refusal, "b", api.OutcomeDenied, api.ViaAPI)
	refusal = h.refused(api.CodeApprovalStateConflict, approveInSession(allow("r", "a")))
	requireRecorded(t, refusal, "a", api.OutcomeAllowed, api.ViaAPI)

	h.must(&runs.CancelRun{RunID: "r"})
	refusal = h.refused(api.CodeRunStateConflict, allow("r", "a"))
	requireRecorded(t, refusal, "a", api.OutcomeAllowed, api.ViaAPI)
	refusal = h.refused(api.CodeRunStateConflict, approveInSession(allow("r", "b")))
	require.Equal(t, "run r is already cancelled", refusal.Detail)
	requireRecorded(t, refusal, "b", api.OutcomeDenied, api.ViaAPI)

	// Another run of the session is now active. The error still shows the decision, whether that run
	// waits for approval or not. An id that the session never had is unknown.
	h.start("next")
	for range 2 {
		refusal = h.refused(api.CodeRunStateConflict, approveInSession(allow("", "b")))
		requireRecorded(t, refusal, "b", api.OutcomeDenied, api.ViaAPI)
		if h.run("next").Status == api.StatusRunning {
			h.must(hold("next", 1, approval("other"), question("asked")))
		}
	}
	require.Nil(t, h.refused(api.CodeApprovalNotPending, approveInSession(allow("", "never"))).Recorded)
	refusal = h.refused(api.CodeRunStateConflict, approveInSession(allow("", "other", "never", "b")))
	requireRecorded(t, refusal, "b", api.OutcomeDenied, api.ViaAPI)
	require.True(t, h.request("next", "other").Open(), "nothing of such a batch is recorded")
	h.must(allow("next", "other"))
	h.must(hold("next", 1, approval("another")))
	refusal = h.refused(api.CodeApprovalNotPending, approveInSession(allow("", "other", "b")))
	requireRecorded(t, refusal, "other", api.OutcomeAllowed, api.ViaAPI)
	// On a run's route only that run's requests count.
	require.Nil(t, h.refused(api.CodeApprovalNotPending, allow("next", "b")).Recorded)
	// A call that still waits has another one.
	h.must(&runs.CreateRun{
		SessionID: h.run("next").SessionID, SessionGiven: true, RunID: "call", Kind: api.KindCall, Input: api.JSON(`1`),
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("of-call"), approval("open-on-call")}},
	})
	h.must(allow("call", "of-call"))
	for _, ids := range [][]string{{"another", "of-call"}, {"of-call", "another"}} {
		refusal = h.refused(api.CodeApprovalNotPending, approveInSession(allow("", ids...)))
		requireRecorded(t, refusal, "of-call", api.OutcomeAllowed, api.ViaAPI)
	}
}

// Each kind has its own route, whichever is shown.
func TestBothKindsOpen(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), approval("b"), question("q"))
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status, "questions are shown first")
	require.Equal(t, api.StatusWaitingForUserQuestion, h.must(allow("r", "a")).Run.Run.Status)
	require.Equal(t, api.StatusWaitingForApproval, h.must(answer("r", "q", "north")).Run.Run.Status)
	require.Equal(t, api.StatusRunning, h.must(deny("r", "b")).Run.Run.Status)

	h = newHouse(t).wait("r", approval("a"), question("q"))
	require.Equal(t, api.StatusWaitingForUserQuestion, h.must(allow("r", "a")).Run.Run.Status)
	require.Equal(t, api.StatusRunning, h.must(decline("r", "q")).Run.Run.Status)
}
