package doctor_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// corruption is a change to a healthy database, and the only finding that it must cause.
type corruption struct {
	name string
	sql  []string
	want doctor.Finding
}

// event appends an event to a session's log, and updates the counters of session and run.
func event(sessionID, runID, id, eventType string) []string {
	return []string{
		"INSERT INTO events (session_id, event_id, run_id, agent_id, type, timestamp_ms, actor, body_digest, prev, body) VALUES ('" +
			sessionID + "', " + id + ", '" + runID + "', 'default', '" + eventType + `', 1, '', '', '', '{"type":"` + eventType + `"}')`,
		"UPDATE sessions SET last_event_id = " + id + " WHERE session_id = '" + sessionID + "'",
		"UPDATE runs SET last_event_id = " + id + " WHERE run_id = '" + runID + "'",
	}
}

func run(runID, assignments string) []string {
	return []string{"UPDATE runs SET " + assignments + " WHERE run_id = '" + runID + "'"}
}

func request(requestID, assignments string) []string {
	return []string{"UPDATE requests SET " + assignments + " WHERE request_id = '" + requestID + "'"}
}

func session(sessionID, assignments string) []string {
	return []string{"UPDATE sessions SET " + assignments + " WHERE session_id = '" + sessionID + "'"}
}

func rewrite(sessionID, eventID, assignments string) []string {
	return []string{"UPDATE events SET " + assignments + " WHERE session_id = '" + sessionID + "' AND event_id = " + eventID}
}

// resolved changes the event of w-1's resolution.
func resolved(resolutions string) []string {
	return rewrite("work", "16", `body = '{"type":"approval_resolved","resolutions":[`+resolutions+`]}'`)
}

// announced changes the event that raised w-1 and w-2.
func announced(requestIDs string) []string {
	return rewrite("work", "15", `body = '{"type":"waiting_for_approval","request_ids":[`+requestIDs+`]}'`)
}

func auditEntry(id string) []string {
	return []string{"INSERT INTO audit_entries (arrival_id, entry_id, timestamp_ms, type, actor, body, body_digest, prev, hash) VALUES (1, " + id + `, 1, 'signed_in', 'user:ada', '{"type":"signed_in"}', 'no digest', '', '')`}
}

const allowedW1 = `{"request_id":"w-1","outcome":"allowed"}`

func at(code doctor.Code, sessionID, runID, requestID string, eventID int64) doctor.Finding {
	return doctor.Finding{Code: code, SessionID: sessionID, RunID: runID, RequestID: requestID, EventID: eventID}
}

var corruptions = []corruption{
	{"a session is deleted", []string{"DELETE FROM sessions WHERE session_id = 'free'"}, at(doctor.SessionMissing, "free", "", "", 0)},
	{
		"a queued run starts while another is active",
		append(event("work", "next", "21", "started"),
			"UPDATE runs SET status = 'running', started_at_ms = 1, claimable_at_ms = 1 WHERE run_id = 'next'",
			"UPDATE sessions SET queued_count = 1 WHERE session_id = 'work'"),
		at(doctor.ActiveRunTwice, "work", "next", "", 0),
	},
	{"a session forgets its active run", session("work", "active_run_id = NULL"), at(doctor.ActiveRunWrong, "work", "waits", "", 0)},
	{"a session names another active run", session("work", "active_run_id = 'next'"), at(doctor.ActiveRunWrong, "work", "waits", "", 0)},
	{"an idle session names an active run", session("idle", "active_run_id = 'ready'"), at(doctor.ActiveRunWrong, "idle", "ready", "", 0)},
	{"the outputs are counted wrong", session("work", "output_count = 7"), at(doctor.SessionOutputsWrong, "work", "", "", 0)},
	{"queued_count is too small", session("work", "queued_count = 1"), at(doctor.QueuedCountWrong, "work", "", "", 0)},
	{"queued_count is too large", session("idle", "queued_count = 1"), at(doctor.QueuedCountWrong, "idle", "", "", 0)},
	{"a session ends with a run in its queue", session("free", "ended_at_ms = 1"), at(doctor.EndedSessionNotIdle, "free", "ready", "", 0)},
	{"an event is deleted", []string{"DELETE FROM events WHERE session_id = 'work' AND event_id = 4"}, at(doctor.EventGap, "work", "done", "", 5)},
	{
		"an event is there twice",
		[]string{"INSERT INTO events SELECT * FROM events WHERE session_id = 'work' AND event_id = 4"},
		at(doctor.EventRepeated, "work", "done", "", 4),
	},
	{"last_event_id runs ahead", session("held", "last_event_id = 9"), at(doctor.SessionLastEventWrong, "held", "", "", 0)},
	{"last_event_id stays behind", session("held", "last_event_id = 3"), at(doctor.SessionLastEventWrong, "held", "", "", 0)},
	{"an event is of nobody's run", rewrite("work", "4", "run_id = 'nobody'"), at(doctor.EventWithoutRun, "work", "nobody", "", 4)},
	{"an event is of another session's run", rewrite("work", "4", "run_id = 'ready'"), at(doctor.EventWithoutRun, "work", "ready", "", 4)},
	{"an event's body is cut", rewrite("work", "4", `body = '{"type":'`), at(doctor.EventUnreadable, "work", "done", "", 4)},
	{"an event's body is another one", rewrite("work", "4", `body = '{"type":"' || type || '","x":1}'`), at(doctor.EventChainBroken, "work", "done", "", 4)},
	{
		"an event has no hash any more",
		append(rewrite("held", "4", "body_digest = '', prev = ''"), session("held", "last_event_hash = ''")...),
		at(doctor.EventChainBroken, "held", "runs", "", 4),
	},
	{"a session has the life of another one", session("work", "life = 'x'"), at(doctor.SessionLifeWrong, "work", "", "", 0)},
	{"a session's newest hash is another one", session("work", "last_event_hash = 'x'"), at(doctor.SessionLastHashWrong, "work", "", "", 0)},
	{"an event's body is of another type", rewrite("work", "4", `body = '{"type":"other"}'`), at(doctor.EventUnreadable, "work", "done", "", 4)},

	{
		"a run waits for nothing",
		run("runs", "status = 'waiting_for_approval', claimable_at_ms = NULL, lease_expires_at_ms = NULL, lease_end = 'suspended'"),
		at(doctor.RunWaitsForNothing, "held", "runs", "", 0),
	},
	{"a run goes on with a request open", run("waits", "status = 'running', claimable_at_ms = 1"), at(doctor.RunDoesNotWait, "work", "waits", "", 0)},
	{"a run waits for the wrong kind", run("asked", "status = 'waiting_for_approval'"), at(doctor.WaitingStatusWrong, "asks", "asked", "", 0)},
	{"raised_count is wrong", run("waits", "raised_count = 3"), at(doctor.RaisedCountWrong, "work", "waits", "", 0)},
	{"a request's number is skipped", request("w-2", "number = 3"), at(doctor.RequestNumbersWrong, "work", "waits", "", 0)},
	{"two requests have one number", request("w-2", "number = 1"), at(doctor.RequestNumbersWrong, "work", "waits", "", 0)},
	{"settled_count is wrong", run("waits", "settled_count = 2"), at(doctor.SettledCountWrong, "work", "waits", "", 0)},
	{"a decision's number is skipped", request("a-2", "settled_number = 3"), at(doctor.SettledNumbersWrong, "work", "done", "", 0)},
	{"two decisions have one number", request("a-2", "settled_number = 1"), at(doctor.SettledNumbersWrong, "work", "done", "", 0)},
	{"resume_after is ahead of the decisions", run("waits", "resume_after = 2"), at(doctor.ResumeAfterWrong, "work", "waits", "", 0)},
	{"resume_after is negative", run("waits", "resume_after = -1"), at(doctor.ResumeAfterWrong, "work", "waits", "", 0)},
	{"suspension_id is another", run("waits", "suspension_id = 'other'"), at(doctor.SuspensionWrong, "work", "waits", "", 0)},
	{"output_count is wrong", run("done", "output_count = 0"), at(doctor.OutputCountWrong, "work", "done", "", 0)},
	{"a run that is over has a data key", run("told", "data_key = 'v1.a.b'"), at(doctor.DataKeyMisplaced, "answered", "told", "", 0)},
	{"a failed run has an output", run("told", "output = '1'"), at(doctor.OutputMisplaced, "answered", "told", "", 0)},
	{"a queued run is held", run("ready", "lease_expires_at_ms = 1, fence = 1, worker_id = 'w'"), at(doctor.LeaseMisplaced, "free", "ready", "", 0)},
	{"a waiting run is held", run("waits", "lease_expires_at_ms = 1"), at(doctor.LeaseMisplaced, "work", "waits", "", 0)},
	{"a run that is over is held", run("done", "lease_expires_at_ms = 1"), at(doctor.LeaseMisplaced, "work", "done", "", 0)},
	{"a lease that was released is held", run("runs", "lease_end = 'released'"), at(doctor.LeaseMisplaced, "held", "runs", "", 0)},
	{"a worker is attached without a lease", run("asked", "lease_expires_at_ms = NULL"), at(doctor.LeaseMisplaced, "asks", "asked", "", 0)},
	{"nobody holds the lease", run("runs", "worker_id = NULL"), at(doctor.LeaseWithoutHolder, "held", "runs", "", 0)},
	{"the lease has no fence", run("asked", "fence = 0"), at(doctor.LeaseWithoutHolder, "asks", "asked", "", 0)},
	{"a waiting run is claimable", run("waits", "claimable_at_ms = 1"), at(doctor.ClaimableMisplaced, "work", "waits", "", 0)},
	{"a run that is over is claimable", run("done", "claimable_at_ms = 1"), at(doctor.ClaimableMisplaced, "work", "done", "", 0)},
	{"a run behind others is claimable", run("later", "claimable_at_ms = 1"), at(doctor.ClaimableMisplaced, "work", "later", "", 0)},
	{"a held run is claimable", run("runs", "claimable_at_ms = 1"), at(doctor.ClaimableMisplaced, "held", "runs", "", 0)},
	{"a running run is not claimable", run("runs", "claimable_at_ms = NULL, lease_expires_at_ms = NULL"), at(doctor.RunUnclaimable, "held", "runs", "", 0)},
	{"a running run is claimable in a far future", run("runs", "claimable_at_ms = updated_at_ms + 3600001"), at(doctor.RunUnclaimable, "held", "runs", "", 0)},
	{"the head of the queue is not claimable", run("ready", "claimable_at_ms = NULL"), at(doctor.RunUnclaimable, "free", "ready", "", 0)},
	{"a run that is over has no end", run("done", "finished_at_ms = NULL"), at(doctor.FinishedAtMissing, "work", "done", "", 0)},
	{"a run that goes on has an end", run("runs", "finished_at_ms = 1"), at(doctor.FinishedAtMisplaced, "held", "runs", "", 0)},
	{"a run has a status that there is not", run("told", "status = 'asleep'"), at(doctor.StatusUnknown, "answered", "told", "", 0)},

	{
		"the events of a run are deleted",
		append(session("work", "last_event_id = 18"), "DELETE FROM events WHERE run_id = 'later'"), at(doctor.RunWithoutEvents, "work", "later", "", 0),
	},
	{"first_event_id is wrong", run("done", "first_event_id = 2"), at(doctor.RunFirstEventWrong, "work", "done", "", 0)},
	{"last_event_id of a run is wrong", run("done", "last_event_id = 10"), at(doctor.RunLastEventWrong, "work", "done", "", 0)},
	{"the terminal event is another", rewrite("work", "11", `type = 'note', body = '{"type":"note"}'`), at(doctor.TerminalEventMissing, "work", "done", "", 0)},
	{"a run ends twice", event("answered", "told", "9", "failed"), at(doctor.TerminalEventRepeated, "answered", "told", "", 9)},
	{"a run ends in two ways", event("answered", "told", "9", "cancelled"), at(doctor.TerminalEventRepeated, "answered", "told", "", 9)},
	{"a run goes on after its end", event("answered", "told", "9", "started"), at(doctor.EventAfterEnd, "answered", "told", "", 9)},
	{"a worker speaks after the end", event("answered", "told", "9", "note"), at(doctor.EventAfterEnd, "answered", "told", "", 9)},
	{"a run starts twice", event("held", "runs", "5", "started"), at(doctor.HistoryIllegal, "held", "runs", "", 5)},
	{"a run is accepted twice", event("held", "runs", "5", "accepted"), at(doctor.HistoryIllegal, "held", "runs", "", 5)},
	{"a run was never started", rewrite("held", "3", `type = 'note', body = '{"type":"note"}'`), at(doctor.HistoryIllegal, "held", "runs", "", 3)},
	{
		"a queued run is interrupted",
		append(event("free", "ready", "3", "interrupted"), append(session("free", "queued_count = 0"),
			run("ready", "status = 'interrupted', finished_at_ms = 1, claimable_at_ms = NULL")...)...),
		at(doctor.HistoryIllegal, "free", "ready", "", 3),
	},
	{"a run ended in another way", run("told", "status = 'interrupted'"), at(doctor.HistoryWrong, "answered", "told", "", 0)},
	{
		"a run is queued again",
		append(session("held", "active_run_id = NULL, queued_count = 1"),
			run("runs", "status = 'queued', lease_expires_at_ms = NULL, claimable_at_ms = 1")...),
		at(doctor.HistoryWrong, "held", "runs", "", 0),
	},

	{
		"a request is of nobody's run",
		[]string{`INSERT INTO requests (session_id, run_id, request_id, handle, suspension_id, suspension_digest, number, kind, body, created_at_ms)
			SELECT session_id, 'nobody', request_id, 'h', suspension_id, suspension_digest, number, kind, body, created_at_ms
			FROM requests WHERE request_id = 'w-2'`},
		at(doctor.RequestWithoutRun, "work", "nobody", "w-2", 0),
	},
	{"a request's body is cut", request("w-2", `body = '{"id":"w-2"'`), at(doctor.RequestUnreadable, "work", "waits", "w-2", 0)},
	{"a request's body is another's", request("w-2", `body = '{"id":"w-1"}'`), at(doctor.RequestUnreadable, "work", "waits", "w-2", 0)},
	{"a settled request has no resolution", request("a-1", "resolution = NULL"), at(doctor.RequestHalfSettled, "work", "done", "a-1", 0)},
	{"a settled request has no moment", request("a-1", "settled_at_ms = NULL"), at(doctor.RequestHalfSettled, "work", "done", "a-1", 0)},
	{"an open request has a number", request("w-2", "settled_number = 2"), at(doctor.RequestHalfSettled, "work", "waits", "w-2", 0)},
	{"a settled request may expire", request("a-1", "due_at_ms = 1"), at(doctor.DueAfterSettled, "work", "done", "a-1", 0)},
	{"an approval is answered", request("a-1", "outcome = 'answered'"), at(doctor.OutcomeOfOtherKind, "work", "done", "a-1", 0)},
	{"an outcome is none", request("a-1", "outcome = 'forgotten'"), at(doctor.OutcomeOfOtherKind, "work", "done", "a-1", 0)},
	{"a resolution is cut", request("a-1", `resolution = '{"outcome":'`), at(doctor.ResolutionUnreadable, "work", "done", "a-1", 0)},
	{"an allowed request turns denied", request("a-1", "outcome = 'denied'"), at(doctor.ResolutionWrong, "work", "done", "a-1", 0)},
	{"a denied request is allowed in the resolution", request("a-2", `resolution = replace(resolution, '"deny"', '"allow"')`), at(doctor.ResolutionWrong, "work", "done", "a-2", 0)},
	{"a resolution is another request's", request("a-2", `resolution = replace(resolution, '"a-2"', '"a-1"')`), at(doctor.ResolutionWrong, "work", "done", "a-2", 0)},
	{"a request was settled at another moment", request("a-2", "settled_at_ms = 1"), at(doctor.ResolutionWrong, "work", "done", "a-2", 0)},
	{"a declined question is not declined", request("q-2", `resolution = replace(resolution, 'true', 'false')`), at(doctor.ResolutionWrong, "answered", "told", "q-2", 0)},
	{"a request was never announced", announced(`"w-1"`), at(doctor.RequestNotAnnounced, "work", "waits", "w-2", 0)},
	{"a request was announced twice", announced(`"w-1","w-2","w-2"`), at(doctor.RequestAnnouncedTwice, "work", "waits", "w-2", 0)},
	{"a resolution has no event", resolved(``), at(doctor.ResolutionWithoutEvent, "work", "waits", "w-1", 0)},
	{"a resolution has two events", resolved(allowedW1 + "," + allowedW1), at(doctor.ResolutionEventRepeated, "work", "waits", "w-1", 0)},
	{"an event says another outcome", resolved(`{"request_id":"w-1","outcome":"denied"}`), at(doctor.ResolutionEventWrong, "work", "waits", "w-1", 16)},
	{"an open request is resolved in the log", resolved(allowedW1 + `,{"request_id":"w-2","outcome":"denied"}`), at(doctor.OpenRequestResolved, "work", "waits", "w-2", 0)},
	{"an event is about no request", resolved(allowedW1 + `,{"request_id":"w-9","outcome":"denied"}`), at(doctor.EventWithoutRequest, "work", "waits", "w-9", 16)},
	{"an event is about another run's request", announced(`"w-1","w-2","a-1"`), at(doctor.EventWithoutRequest, "work", "waits", "a-1", 15)},
	{
		"a record is of nobody's run",
		[]string{"UPDATE idempotency_records SET run_id = 'nobody' WHERE idempotency_key = 'key-runs'"},
		doctor.Finding{Code: doctor.RecordWithoutRun, SessionID: "held", RunID: "nobody", IdempotencyKey: "key-runs"},
	},
	{
		"a name begins after another run's event",
		[]string{"UPDATE idempotency_records SET event_id = 1000 WHERE operation = 'name' AND idempotency_key = 'waits'"},
		doctor.Finding{Code: doctor.NameEventWrong, SessionID: "work", RunID: "waits", IdempotencyKey: "waits"},
	},
	{"the first line of the audit's own log is gone", auditEntry("2"), doctor.Finding{Code: doctor.AuditEntryMissing, SessionID: rules.AllSessions, EventID: 2}},
	{"a line of the audit's own log was changed", auditEntry("1"), doctor.Finding{Code: doctor.AuditChainBroken, SessionID: rules.AllSessions, EventID: 1}},
}

var tables = []string{"sessions", "runs", "requests", "events", "idempotency_records", "effects", "messages", "rules", "audit_entries"}

// TestEachCorruptionIsNamed breaks a healthy database in one way at a time.
func TestEachCorruptionIsNamed(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			fill(t, d.store)
			found, summary := examine(t, d.inspector)
			require.Empty(t, found)
			require.Equal(t, doctor.Rows{Sessions: 7, Runs: 9, Requests: 7, Events: 41, IdempotencyRecords: 18}, summary.Rows)

			do := func(statement string) {
				t.Helper()
				_, err := d.sql.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			// Recreate the tables without constraints, which would reject many corruptions.
			for _, table := range tables {
				do("CREATE TABLE healthy_" + table + " AS SELECT * FROM " + table)
			}
			do("DROP TABLE IF EXISTS run_payloads")
			for _, table := range slices.Backward(tables) {
				do("DROP TABLE " + table)
				do("CREATE TABLE " + table + " AS SELECT * FROM healthy_" + table)
			}
			for _, c := range corruptions {
				for _, table := range tables {
					do("DELETE FROM " + table)
					do("INSERT INTO " + table + " SELECT * FROM healthy_" + table)
				}
				for _, statement := range c.sql {
					do(statement)
				}
				found, _ := examine(t, d.inspector)
				found = withoutHashes(found, c.want.Code)
				require.Len(t, found, 1, "%s: %+v", c.name, found)
				found[0].Detail = ""
				require.Equal(t, c.want, found[0], c.name)
			}
		})
	}
}

// withoutHashes drops findings about hashes unless they are wanted: changed events always break
// the chain. It drops those about claimable_runs, too, which nothing writes without the triggers.
func withoutHashes(found []doctor.Finding, wanted doctor.Code) []doctor.Finding {
	return slices.DeleteFunc(found, func(f doctor.Finding) bool {
		return f.Code != wanted && (f.Code == doctor.EventChainBroken || f.Code == doctor.SessionLastHashWrong || f.Code == doctor.StorageDamaged)
	})
}

// TestEveryInvariantIsShownAndDocumented checks that a corruption breaks each invariant, and
// that docs/doctor.md lists the same invariants in the same words.
func TestEveryInvariantIsShownAndDocumented(t *testing.T) {
	t.Parallel()
	shown := map[doctor.Code]bool{doctor.StorageDamaged: true} // see TestDamagedStorageIsFound
	for _, c := range corruptions {
		shown[c.want.Code] = true
	}
	for _, healthy := range damaged {
		for _, d := range healthy.damages {
			m := newMemory()
			healthy.fill(t, m)
			d.do(m)
			shown[d.want(m).Code] = true
		}
	}
	invariants := map[doctor.Code]string{}
	for _, invariant := range doctor.Invariants() {
		require.NotContains(t, invariants, invariant.Code, "it is stated twice")
		require.True(t, shown[invariant.Code], "no corruption shows %s", invariant.Code)
		invariants[invariant.Code] = invariant.Says
	}
	page, err := os.ReadFile("../../docs/doctor.md")
	require.NoError(t, err)
	documented := map[doctor.Code]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		documented[doctor.Code(row[1])] = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(row[2], "$1")
	}
	require.Equal(t, invariants, documented)
	require.Len(t, shown, len(invariants))
}
