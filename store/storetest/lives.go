package storetest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"log/slog"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Restorer is a [Database] whose rows can be restored to an earlier state while stores are open,
// like a restore into a running server.
type Restorer interface {
	// Backup returns a function that restores the current rows.
	Backup(ctx context.Context) (restore func() error, err error)
}

// restore restores the database to the time of the backup.
func (h *harness) backup() (restore func()) {
	h.Helper()
	restorer, able := h.database.(Restorer)
	require.True(h, able)
	back, err := restorer.Backup(h.ctx)
	require.NoError(h, err)
	return func() {
		h.Helper()
		require.NoError(h, back())
	}
}

// through sends a command to another store on the database.
func (h *harness) through(store runs.Store, command runs.Command) runs.Reply {
	h.Helper()
	reply, err := store.Do(h.ctx, command)
	require.NoError(h, err, "%T", command)
	return reply
}

// start creates a claimed run.
func start(sessionID, runID string) *runs.CreateRun {
	return &runs.CreateRun{
		SessionID: sessionID, RunID: runID, SessionGiven: true, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
	}
}

// forgotten deletes a session in which everything is over.
func (h *harness) forgotten(sessionID string, store runs.Store) {
	h.Helper()
	h.clock.Advance(1)
	require.True(h, TrimSession(h, store, sessionID, h.clock.NowMs(), 1000).Session)
}

// forgottenRun deletes the only run of a session, which is over. The session stays.
func (h *harness) forgottenRun(sessionID string) {
	h.Helper()
	h.clock.Advance(1)
	before := h.clock.NowMs()
	h.finish(sessionID, "young-"+sessionID)
	trimmed := TrimSession(h, h.store, sessionID, before, 1000)
	require.Equal(h, 1, trimmed.Runs)
	require.False(h, trimmed.Session)
}

// oneLife expects that a session with an id that was used before is decided from its own rows, whichever
// of the stores remembers the earlier ones.
func oneLife(h *harness, here, there runs.Store) {
	// With versions counted from 1, the two lives would have equal versions after each of these.
	for _, changes := range []int{1, 2, 3} {
		session := numbered("s", changes)
		h.through(here, start(session, "first"))
		h.through(here, &runs.AppendEvents{RunID: "first", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"note"}`)}})
		h.through(here, &runs.Complete{RunID: "first", Fence: 1})
		life := h.session(session).Session.Life
		require.Equal(h, h.events(session)[0].Hash(), life)
		h.forgotten(session, there)

		second := numbered("second", changes)
		h.through(there, start(session, second))
		if changes > 1 {
			h.through(there, &runs.Suspend{RunID: second, Fence: 1, Suspension: approvals("a")})
		}
		if changes > 2 {
			h.through(there, &runs.ResolveApprovals{RunID: second, Resolutions: allow("a"), Actor: person})
		}
		require.NotEqual(h, life, h.session(session).Session.Life)

		_, err := here.Do(h.ctx, start(session, numbered("third", changes)))
		requireCode(h, api.CodeRunNotClaimable, err)
		queued := h.through(here, &runs.CreateRun{SessionID: session, RunID: numbered("fourth", changes), SessionGiven: true, Input: api.JSON(`1`)})
		require.Equal(h, api.StatusQueued, queued.Run.Run.Status)
		require.Equal(h, second, h.session(session).Session.ActiveRunID)
		RequireHealthy(h.ctx, h, h.store)
	}
}

// oneRun expects that a run whose id was used before in another session is found.
func oneRun(h *harness, here, there runs.Store) {
	calls := map[string]func(store runs.Store, runID string) (runs.Reply, error){
		"heartbeat": func(store runs.Store, runID string) (runs.Reply, error) {
			return store.Do(h.ctx, &runs.Heartbeat{RunID: runID, Fence: 1})
		},
		"suspend": func(store runs.Store, runID string) (runs.Reply, error) {
			return store.Do(h.ctx, &runs.Suspend{RunID: runID, Fence: 1, Suspension: approvals("b")})
		},
		"complete": func(store runs.Store, runID string) (runs.Reply, error) {
			return store.Do(h.ctx, &runs.Complete{RunID: runID, Fence: 1})
		},
		"claim": func(store runs.Store, runID string) (runs.Reply, error) {
			return store.Do(h.ctx, &runs.ClaimRun{RunID: runID, WorkerID: "other"})
		},
		"approve": func(store runs.Store, runID string) (runs.Reply, error) {
			return store.Do(h.ctx, &runs.ResolveApprovals{RunID: runID, Resolutions: allow("a"), Actor: person})
		},
	}
	for name, call := range calls {
		before, after, runID := "before-"+name, "after-"+name, "run-"+name
		h.through(here, start(before, runID))
		h.through(here, &runs.Complete{RunID: runID, Fence: 1})
		h.forgotten(before, there)

		create := start(after, runID)
		switch name {
		case "claim":
			create.Claim = nil
		case "approve":
			waits := approvals("a")
			create.Claim, create.Suspend = nil, &waits
		}
		h.through(there, create)
		_, err := call(here, runID)
		require.NoError(h, err, name)
		record := h.run(runID)
		require.Equal(h, after, record.Run.SessionID)
		RequireHealthy(h.ctx, h, h.store)
	}
	_, err := here.Do(h.ctx, &runs.Heartbeat{RunID: "run-nowhere", Fence: 1})
	requireCode(h, api.CodeRunNotFound, err)
}

var lifeTests = map[string]func(*harness){
	"lives/a session that is used again is decided from its own rows": func(h *harness) { oneLife(h, h.store, h.store) },
	"lives/a run that is used again in another session is found":      func(h *harness) { oneRun(h, h.store, h.store) },
	"lives/a key outlives its session and its run": func(h *harness) {
		// Its record is in the scope of the caller, so it outlives the session.
		made := h.do(&runs.CreateRun{Key: "k", Input: api.JSON(`1`)}).Run.Run
		h.do(&runs.CancelRun{RunID: made.RunID})
		h.forgotten(made.SessionID, h.store)
		h.create(made.SessionID, "next")
		RequireHealthy(h.ctx, h, h.store)

		h.do(start("s", "r"))
		h.do(&runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"note"}`)}, IdempotencyKey: "k"})
		h.do(&runs.Complete{RunID: "r", Fence: 1})
		h.forgottenRun("s")
		h.create("s", "r")
		RequireHealthy(h.ctx, h, h.store)

		// The service chooses the key of a release, so a caller can use no other one.
		h.do(start("t", "again"))
		h.do(&runs.Release{RunID: "again", Fence: 1})
		h.do(&runs.Complete{RunID: "again", Fence: h.claim("again")})
		h.forgottenRun("t")
		h.do(start("t", "again"))
		require.False(h, h.do(&runs.Release{RunID: "again", Fence: 1}).Existing)
		require.NotZero(h, h.run("again").Run.ClaimableAtMs)
		RequireHealthy(h.ctx, h, h.store)
	},
	"lives/a key is for its own run alone": func(h *harness) {
		for sessionID, decide := range map[string]func() *runs.ResolveApprovals{
			"by-run":     func() *runs.ResolveApprovals { return &runs.ResolveApprovals{RunID: "run-by-run"} },
			"by-session": func() *runs.ResolveApprovals { return &runs.ResolveApprovals{SessionID: "by-session"} },
		} {
			call := func() (runs.Reply, error) {
				command := decide()
				command.Resolutions, command.Key, command.Actor = allow("a"), "k", person
				return h.store.Do(h.ctx, command)
			}
			runID := "run-" + sessionID
			h.wait(sessionID, runID, approvals("a"))
			reply, err := call()
			require.NoError(h, err)
			require.False(h, reply.Replayed)
			h.do(&runs.Complete{RunID: runID, Fence: h.claim(runID)})
			reply, err = call()
			require.NoError(h, err)
			require.True(h, reply.Replayed)
			h.forgottenRun(sessionID)
			_, err = call()
			requireCode(h, api.CodeRunNotFound, err)
			if sessionID == "by-session" {
				h.finish("elsewhere", runID)
				_, err = call()
				requireCode(h, api.CodeRunNotFound, err)
				h.forgottenRun("elsewhere")
			}
			h.finish(sessionID, runID)
			_, err = call()
			requireCode(h, api.CodeIdempotencyConflict, err)
		}
	},
	"lives/a log that begins again is not continued": func(h *harness) {
		h.finish("s", "r")
		last := h.session("s").Session.LastEventID
		h.forgotten("s", h.store)
		h.create("s", "next")
		_, _, err := h.store.EventsWithin(h.ctx, reads.EventQuery{SessionID: "s", After: last, Limit: 10, MaxBytes: 1000})
		requireCode(h, api.CodeEventCursorReset, err)
		_, _, err = h.store.EventsWithin(h.ctx, reads.EventQuery{RunID: "next", After: last, Limit: 10, MaxBytes: 1000})
		requireCode(h, api.CodeEventCursorReset, err)
	},
	"lives/an export has what retention leaves, and says what it deleted": func(h *harness) {
		kept, able := h.store.(audit.Checkpoints)
		require.True(h, able)
		private, err := signing.Generate()
		require.NoError(h, err)
		keys, err := signing.New([]ed25519.PrivateKey{private}, nil, h.clock.NowMs)
		require.NoError(h, err)
		h.finish("s", "r")
		h.addRule("s", "l", anyInput)
		h.finish("gone", "g")
		require.NoError(h, audit.NewCheckpointer(kept, keys, slog.New(slog.DiscardHandler)).Look(h.ctx))
		h.clock.Advance(1)
		require.Equal(h, 1, h.trim("s", 100).Runs)
		require.Empty(h, h.events("s"), "the rule keeps the session")
		h.forgotten("gone", h.store)

		var file bytes.Buffer
		require.NoError(h, audit.Export(h.ctx, &file, audit.Sources{Log: h.store, Entries: kept, Checkpoints: kept}, keys, audit.Scope{}, kept.NowMs))
		set, err := keys.Public(h.ctx)
		require.NoError(h, err)
		public, err := signing.NewPublic(set)
		require.NoError(h, err)
		report, err := audit.Verify(bytes.NewReader(file.Bytes()), public)
		require.NoError(h, err)
		require.Equal(h, []int64{1, 1, 1, 0}, []int64{report.Chains, report.Trimmed, report.Absent, report.Events})
		require.Empty(h, report.Missing)
	},
}

var lifeReplicaTests = map[string]func(*harness){
	"replicas/a session that is used again is decided from its own rows": func(h *harness) { oneLife(h, h.store, h.open()) },
	"replicas/a run that is used again in another session is found":      func(h *harness) { oneRun(h, h.store, h.open()) },
}

// restoreTests are for databases that are each a [Restorer].
var restoreTests = map[string]func(*harness){
	"restored/no decision that was undone is handed to a worker": func(h *harness) {
		other := h.open()
		h.wait("s", "r", approvals("a"))
		restore := h.backup()
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		restore()
		h.through(other, &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorDeny}}, Actor: person})
		claim := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
		require.Equal(h, []api.Outcome{api.OutcomeDenied}, outcomesOf(claim.Resume))
	},
	"restored/no rule that was undone allows": func(h *harness) {
		other := h.open()
		h.addRule("*", "one", api.RuleMatch{AnyInput: true})
		require.Equal(h, "one", h.settledBy("s", "r0", approvals("a").Approvals[0]))
		restore := h.backup()
		h.do(&runs.RevokeRule{RuleID: "one", Actor: person})
		h.addRule("*", "two", api.RuleMatch{AnyInput: true})
		require.Equal(h, "two", h.settledBy("s", "r1", approvals("a").Approvals[0]))
		restore()
		h.through(other, &runs.RevokeRule{RuleID: "one", Actor: person})
		h.through(other, &runs.AddRule{RuleID: "three", SessionID: "*", ToolName: "other", Match: api.RuleMatch{AnyInput: true}, Actor: person})
		require.Empty(h, h.settledBy("s", "r2", approvals("a").Approvals[0]))
	},
}

func outcomesOf(resume *api.Resume) (outcomes []api.Outcome) {
	for i := range resume.Approvals {
		outcomes = append(outcomes, resume.Approvals[i].Resolution.Outcome)
	}
	return outcomes
}
