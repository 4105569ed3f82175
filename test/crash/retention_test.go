//go:build faults

package crash

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/test/rig"
)

// retentionPoints are where the service is killed while it deletes: in a transaction of the
// retention, behind each of its steps, and between two transactions of one session.
var retentionPoints = []point{
	{"retain.locked", 1},
	{"retain.events", 2},
	{"retain.first_kept", 3},
	{"retain.rows", 1},
	{"retain.rows", 4},
	{"retain.session", 1},
	{"retain.committed", 1},
	{"retain.committed", 2},
	{"retain.committed", 3},
}

// TestRetentionKilled kills the service during retention, at one point after the other. The
// remaining rows are consistent, nothing needed is deleted, and the restarted service continues.
func TestRetentionKilled(t *testing.T) {
	rig.Databases(t, func(t *testing.T, database string) {
		service := &replica{plan: t.TempDir() + "/plan"}
		service.Process = rig.Start(t, rig.Options{
			Program: rig.Program(t, "failpoints"), Database: database, Env: []string{failpoint.Variable + "=" + service.plan},
			Args: []string{"--keep-runs", "1h", "--keep-rules", "1h", "--idempotency-retention", "1h"},
		})
		// On Postgres another replica keeps running with its cache of the deleted rows.
		other := service.Process
		if strings.HasPrefix(database, "postgres") {
			other = rig.Start(t, rig.Options{Database: database})
		}
		for i, at := range retentionPoints {
			past := &pastOf{t: t, c: service.Connect(), other: other.Connect(), name: fmt.Sprintf("p%d", i)}
			past.make()
			service.Kill()
			<-service.Ended()
			makeOld(t, database)
			require.NoError(t, service.arm("kill "+at.String()))
			require.NoError(t, service.Restart())
			select {
			case <-service.Ended():
			case <-rig.Soon(t).Done():
				t.Fatalf("the service did not come by %s: %s", at, service.Log())
			}
			rig.RequireHealthy(t, database)
			_, err := service.crash()
			require.NoError(t, err)
			require.NoError(t, service.AwaitReady())
			past.c, past.other = service.Connect(), other.Connect()
			past.requireKept(at)
		}
		service.Kill()
		<-service.Ended()
		rig.RequireHealthy(t, database)
	})
}

// makeOld changes the times of finished rows as if they had ended hours ago. Events keep their
// times, which are part of their chain.
func makeOld(t *testing.T, database string) {
	t.Helper()
	driver, name := "pgx", database
	if path, is := strings.CutPrefix(database, "sqlite:"); is {
		driver, name = "sqlite", path
	}
	db, err := sql.Open(driver, name)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, statement := range []string{
		`UPDATE runs SET finished_at_ms = finished_at_ms - 36000000 WHERE finished_at_ms IS NOT NULL`,
		`UPDATE sessions SET updated_at_ms = updated_at_ms - 36000000`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
}

// pastOf is the history of the sessions of one kill: finished runs that are still needed, and some
// that are not.
type pastOf struct {
	t *testing.T
	// c is of the replica that is killed, other of one that has worked in the same sessions.
	c, other *client.Client
	name     string
	mail     *trial
	// known is the last event of session waits that its reader knows.
	known string
}

func (p *pastOf) id(what string) string { return p.name + "-" + what }

func (p *pastOf) ctx() context.Context { return p.t.Context() }

// byOther is the same, worked at by the other replica.
func (p *pastOf) byOther() *pastOf {
	by := *p
	by.c = p.other
	return &by
}

// over creates a run that waits for an approval, allows it, and completes it.
func (p *pastOf) over(session, run string, events int, remember api.Remember) {
	p.t.Helper()
	_, err := p.c.CreateRun(p.ctx(), client.CreateRunParams{
		RunID: p.id(run), SessionID: p.id(session), AgentID: p.id("agent-" + run), Input: 1, Suspend: rig.Approvals("a"),
	})
	require.NoError(p.t, err)
	allow := rig.Allow("a")
	allow.Remember = remember
	_, err = p.c.ResolveRunApprovals(p.ctx(), p.id(run), rig.Decide(allow))
	require.NoError(p.t, err)
	work := &trial{ctx: p.ctx(), client: p.c, runID: p.id(run), sessionID: p.id(session), agentID: p.id("agent-" + run)}
	claim, err := work.claimNext(longLeaseMs)
	require.NoError(p.t, err)
	if events > 0 {
		_, err = p.c.AppendEvents(p.ctx(), p.id(run), claim.Lease.Fence, slices.Repeat([]api.JSON{api.JSON(`{"type":"delta"}`)}, events))
		require.NoError(p.t, err)
	}
	require.NoError(p.t, complete(work))
}

func (p *pastOf) make() {
	p.t.Helper()
	// Three transactions, the last of which deletes the session.
	p.over("gone", "gone", 2_000, "")
	p.byOther().over("gone", "gone-too", 0, "")
	// One run is deleted. The events after the waiting run stay with it.
	p.over("waits", "before", 0, "")
	_, err := p.c.CreateRun(p.ctx(), client.CreateRunParams{
		RunID: p.id("waiting"), SessionID: p.id("waits"), AgentID: p.id("agent-waiting"), Input: 1, Suspend: rig.Approvals("a"),
	})
	require.NoError(p.t, err)
	for item, err := range p.c.StreamSession(p.ctx(), p.id("waits"), "") {
		require.NoError(p.t, err)
		p.known = item.ID
		break
	}
	// A rule in force names its run as the source, and another run has an answer that arrived too
	// late.
	p.over("ruled", "ruled", 0, api.RememberSession)
	ctx, cancel := context.WithTimeout(p.ctx(), rig.Patience)
	defer cancel()
	p.mail = &trial{ctx: ctx, client: p.c, runID: p.id("asks"), sessionID: p.id("mail"), agentID: p.id("agent-mail")}
	require.NoError(p.t, steps(asking(false), complete, answerChild, carriedOut)(p.mail))
	p.requireDeadLetter(ctx)
}

// requireKept waits until the service has deleted the rest, and checks that everything needed is
// there and works.
func (p *pastOf) requireKept(at point) {
	p.t.Helper()
	for _, gone := range []string{"gone", "gone-too", "before"} {
		rig.Await(p.t, func() bool {
			_, err := p.c.GetRun(p.ctx(), p.id(gone))
			require.True(p.t, err == nil || isGone(err), "%v", err)
			return err != nil
		}, "killed at %s, run %s is not deleted", at, gone)
	}
	_, err := p.c.GetSession(p.ctx(), p.id("gone"))
	require.ErrorIs(p.t, err, client.ErrNotFound)

	// Its ids are free: it is another session, of which nothing is missing, also for a replica that
	// remembers the one before.
	p.over("gone", "gone", 1, "")
	p.byOther().over("gone", "gone-too", 0, "")
	again, err := p.c.ListSessionEvents(p.ctx(), p.id("gone"), client.EventListParams{})
	require.NoError(p.t, err)
	require.Equal(p.t, "1", again[0].ID)

	// A reader of the session continues from its last event, and an older reader gets an error.
	_, err = p.c.ListSessionEvents(p.ctx(), p.id("waits"), client.EventListParams{After: "1"})
	require.ErrorIs(p.t, err, client.ErrCursorReset)
	ctx, cancel := context.WithTimeout(p.ctx(), rig.Patience)
	defer cancel()
	_, err = p.c.ResolveRunApprovals(ctx, p.id("waiting"), rig.Decide(rig.Allow("a")))
	require.NoError(p.t, err)
	for after, want := range map[string]string{p.known: string(api.EventApprovalResolved), "1": "gap reset"} {
		for item, err := range p.c.StreamSession(ctx, p.id("waits"), after) {
			require.NoError(p.t, err)
			got := "gap " + item.Gap
			if item.Event != nil {
				got, _, err = rig.ReadEvent(item.Event.Event)
				require.NoError(p.t, err)
			}
			require.Equal(p.t, want, got)
			break
		}
	}
	waiting := &trial{ctx: ctx, client: p.c, runID: p.id("waiting"), sessionID: p.id("waits"), agentID: p.id("agent-waiting")}
	_, err = waiting.claimNext(longLeaseMs)
	require.NoError(p.t, err)
	require.NoError(p.t, complete(waiting))

	_, err = p.c.GetRun(ctx, p.id("ruled"))
	require.NoError(p.t, err, "a rule in force names it")
	ruled, err := p.c.CreateRun(ctx, client.CreateRunParams{
		SessionID: p.id("ruled"), AgentID: p.id("agent-new"), Input: 1, Suspend: rig.Approvals("a"),
	})
	require.NoError(p.t, err)
	require.Equal(p.t, api.StatusRunning, ruled.Status, "the rule allows it")

	_, err = p.c.GetRun(ctx, p.mail.runID)
	require.NoError(p.t, err, "a message of it is there")
	p.requireDeadLetter(ctx)
}

// requireDeadLetter checks that the answer that arrived after its run can be replayed.
func (p *pastOf) requireDeadLetter(ctx context.Context) {
	p.t.Helper()
	dead, err := p.c.DeadLetters(ctx, p.mail.sessionID)
	require.NoError(p.t, err)
	require.Len(p.t, dead, 1)
}

func isGone(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Code == api.CodeRunNotFound
}
