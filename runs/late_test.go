package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A late caller's error shows the decision even if the worker's checkpoint already includes it,
// and a repeated call is recognized.
func TestLateAfterACheckpoint(t *testing.T) {
	h := parallelHouse(t).start("r")
	first := hold("r", 1, approval("a"), question("q"), approval("w"), approval("open"), question("asked"))
	first.SuspensionID = "wait-1"
	h.must(first)
	h.must(allow("r", "a"))
	h.must(decline("r", "q"))
	h.must(&runs.Withdraw{RunID: "r", RequestID: "w", Fence: 1})
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: api.JSON(`1`), SettledAfter: ms(3)})
	require.Nil(t, h.record("r").Resume())

	requireRecorded(t, h.refused(api.CodeApprovalNotPending, allow("r", "a")), "a", api.OutcomeAllowed, api.ViaAPI)
	requireRecorded(t, h.refused(api.CodeApprovalNotPending, approveInSession(allow("", "a"))), "a", api.OutcomeAllowed, api.ViaAPI)
	requireRecorded(t, h.refused(api.CodeQuestionRequestMismatch, answer("r", "q", "north")), "q", api.OutcomeDeclined, api.ViaAPI)
	requireRecorded(t, h.refused(api.CodeQuestionRequestMismatch, answerInSession(answer("", "q", "north"))), "q", api.OutcomeDeclined, api.ViaAPI)
	requireRecorded(t, h.refused(api.CodeQuestionRequestMismatch, &runs.CancelQuestion{RunID: "r", RequestID: "q"}), "q", api.OutcomeDeclined, api.ViaAPI)
	require.True(t, h.must(&runs.Withdraw{RunID: "r", RequestID: "w", Fence: 1}).Existing)
	h.refused(api.CodeIDConflict, hold("r", 1, approval("a")))
	other := hold("r", 1, approval("new"))
	other.SuspensionID = "wait-1"
	h.refused(api.CodeIDConflict, other)
}

// The same after every request of a suspension is settled and included in a checkpoint.
func TestSuspensionIDAfterACheckpoint(t *testing.T) {
	h := parallelHouse(t).start("r")
	first := hold("r", 1, approval("a"))
	first.SuspensionID = "wait-1"
	h.must(first)
	h.must(allow("r", "a"))
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: api.JSON(`1`)})
	other := hold("r", 1, approval("b"))
	other.SuspensionID = "wait-1"
	refusal := h.refused(api.CodeIDConflict, other)
	require.Equal(t, "suspension wait-1 exists with another payload", refusal.Detail)
}

// Two runs of a session may use the same request id: on the session's route the newer request
// counts.
func TestLateTellsOfTheNewest(t *testing.T) {
	h := parallelHouse(t).wait("z-first", question("q"), approval("a"))
	h.must(answer("z-first", "q", "north"))
	h.must(allow("z-first", "a"))
	h.must(&runs.CancelRun{RunID: "z-first"})
	h.nowMs += 5
	h.wait("a-second", question("q"), approval("a"))
	h.must(decline("a-second", "q"))
	h.must(deny("a-second", "a"))
	h.must(&runs.CancelRun{RunID: "a-second"})
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, answerInSession(answer("", "q", "north"))), "q", api.OutcomeDeclined, api.ViaAPI)
	requireRecorded(t, h.refused(api.CodeRunStateConflict, approveInSession(allow("", "a"))), "a", api.OutcomeDenied, api.ViaAPI)
}

// Attachment ends with the worker: the next one's plain suspension starts a new Resume.
func TestNextWorkerIsNotAttached(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("a")))
	h.nowMs += api.DefaultLeaseMs
	h.must(allow("r", "a"))
	require.Equal(t, int64(2), h.claim("r"))
	h.must(suspend("r", 2, approval("b")))
	h.must(allow("r", "b"))
	resume := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim.Resume
	require.Len(t, resume.Approvals, 1)
	require.Equal(t, "b", resume.Approvals[0].Request.ID)
}

// settled_after never moves the watermark back.
func TestSettledAfterDoesNotGoBack(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("a"), approval("b"), approval("c")))
	h.must(allow("r", "a", "b"))
	for _, after := range []int64{2, 1, 0} {
		h.must(&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: api.JSON(`1`), SettledAfter: ms(after)})
		require.Equal(t, int64(2), h.run("r").ResumeAfter)
	}
}

func TestReleasesAreNoAttempts(t *testing.T) {
	h := parallelHouse(t).create("r")
	for range 3 * runs.DefaultMaxAttempts {
		fence := h.claim("r")
		require.Equal(t, int64(1), h.run("r").Attempt)
		h.must(&runs.Release{RunID: "r", Fence: fence})
	}
}

// A checkpoint may be large, so only the command that sets it writes it.
func TestCheckpointIsWrittenOnce(t *testing.T) {
	h := parallelHouse(t).start("r")
	for _, checkpoint := range []api.JSON{api.JSON(`1`), nil, api.JSON(`null`), api.JSON(`2`)} {
		_, change := h.decided(&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: checkpoint})
		require.Equal(t, checkpoint != nil && string(checkpoint) != "null", change.UpdatedRuns[0].CheckpointSet)
	}
	// In a batch the last image has it, whichever command set it.
	h.flush()
	require.Equal(t, `2`, string(h.rows.runs["r"].Checkpoint))
}

// A run of another session may be loaded because of its id. This session must not end it, promote
// it or move it up.
func TestStrangersInTheState(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.create("next")
	state := copyState(h.states["s"])
	for runID, firstEventID := range map[string]int64{"stranger": 1, "late stranger": 1000} {
		state.Runs[runID] = &model.Run{
			RunID: runID, SessionID: "else", Status: api.StatusQueued, FirstEventID: firstEventID, QueuedAhead: 5,
		}
	}
	for _, command := range []runs.Command{&runs.EndSession{SessionID: "s"}, &runs.CancelRun{RunID: "r"}, &runs.CancelRun{RunID: "next"}} {
		require.NoError(t, runs.Prepare(command, h.newID))
		change, _, err := runs.Decide(state, command, h.nowMs)
		require.NoError(t, err)
		for _, run := range change.UpdatedRuns {
			require.Equal(t, "s", run.SessionID, run.RunID)
		}
		after := copyState(state)
		after.Apply(change)
		require.Equal(t, int64(5), after.Runs["stranger"].QueuedAhead)
		require.Equal(t, int64(5), after.Runs["late stranger"].QueuedAhead)
	}
	for _, command := range []runs.Command{&runs.CancelRun{RunID: "stranger"}, allow("stranger", "a"), answer("stranger", "q", "x")} {
		require.NoError(t, runs.Prepare(command, h.newID))
		_, _, err := runs.Decide(state, command, h.nowMs)
		requireCode(t, api.CodeRunNotFound, err)
	}
}

// A batch of approvals that names a settled question of a finished run gets an error with the
// question's decision.
func TestApprovalsThatNameASettledQuestion(t *testing.T) {
	h := parallelHouse(t)
	asked := question("q")
	asked.ExpiresAfterMs = ms(50)
	h.wait("r", asked)
	h.nowMs += 50
	refused := h.refused(api.CodeRunStateConflict, allow("r", "q"))
	require.NotNil(t, refused.Recorded)
	require.Equal(t, "q", refused.Recorded.RequestID)
	require.Equal(t, api.OutcomeExpired, refused.Recorded.Outcome)
}
