package holdpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// program is a program with rows of its own in the service's database.
type program struct {
	*testing.T
	*running
	pool *pgxpool.Pool
	c    *client.Client
}

func newProgram(t *testing.T) *program {
	t.Helper()
	url := postgrestest.URL(t)
	p := &program{T: t, running: open(t, url, holdpoint.Options{})}
	p.c = p.caller(t)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	p.pool = pool
	p.exec("CREATE TABLE orders (run_id text)")
	return p
}

func (p *program) exec(sql string, args ...any) {
	p.Helper()
	_, err := p.pool.Exec(p.Context(), sql, args...)
	require.NoError(p, err)
}

func (p *program) count(sql string) (n int) {
	p.Helper()
	require.NoError(p, p.pool.QueryRow(p.Context(), sql).Scan(&n))
	return n
}

func (p *program) begin() pgx.Tx {
	p.Helper()
	tx, err := p.pool.Begin(p.Context())
	require.NoError(p, err)
	p.Cleanup(func() { _ = tx.Rollback(p.Context()) }) // after a commit it does nothing
	return tx
}

// order records an order and its run in a transaction.
func (p *program) order(tx pgx.Tx, params client.CreateRunParams) (runID string) {
	p.Helper()
	runID, err := p.CreateRunTx(p.Context(), tx, params)
	require.NoError(p, err)
	_, err = tx.Exec(p.Context(), "INSERT INTO orders (run_id) VALUES ($1)", runID)
	require.NoError(p, err)
	return runID
}

func (p *program) commit(tx pgx.Tx) {
	p.Helper()
	require.NoError(p, tx.Commit(p.Context()))
}

// settled waits until no committed row is left to create a run of.
func (p *program) settled() {
	p.Helper()
	deadline := time.Now().Add(time.Minute)
	for p.count("SELECT count(*) FROM run_intake WHERE state = 'pending'") > 0 {
		require.True(p, time.Now().Before(deadline), "rows stay in the intake")
	}
}

func (p *program) refused() []holdpoint.RefusedRun {
	p.Helper()
	refused, err := p.RefusedRuns(p.Context(), "", 100)
	require.NoError(p, err)
	return refused
}

func TestARunOfACommittedTransaction(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	tx := p.begin()
	runID := p.order(tx, client.CreateRunParams{AgentID: "deployer", Input: map[string]string{"version": "1.4"}, Suspend: &api.Suspension{
		Approvals: []api.ApprovalRequest{{ID: "deploy", ToolCallID: "call-1", ToolName: "deploy", Input: api.JSON(`1`)}},
	}})
	rolledBack := p.begin()
	never := p.order(rolledBack, client.CreateRunParams{Input: 1})
	require.NoError(t, rolledBack.Rollback(t.Context()))
	_, err := p.c.GetRun(t.Context(), runID)
	require.ErrorIs(t, err, client.ErrNotFound, "before the commit")
	p.commit(tx)
	p.settled()

	run, err := p.c.GetRun(t.Context(), runID)
	require.NoError(t, err)
	require.Equal(t, api.StatusWaitingForApproval, run.Status)
	require.Equal(t, "deployer", run.AgentID)
	_, err = p.c.GetRun(t.Context(), never)
	require.ErrorIs(t, err, client.ErrNotFound)
	require.Equal(t, 1, p.count("SELECT count(*) FROM orders"))
	require.Zero(t, p.count("SELECT count(*) FROM run_intake"))
}

// TestRunsOfOneTransactionKeepTheirOrder also creates the same run twice.
func TestRunsOfOneTransactionKeepTheirOrder(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	tx := p.begin()
	for n := range 20 {
		p.order(tx, client.CreateRunParams{RunID: fmt.Sprintf("r%d", n), SessionID: "s", Input: n})
	}
	p.order(tx, client.CreateRunParams{RunID: "r7", SessionID: "s", Input: 7})
	p.commit(tx)
	p.settled()
	require.Empty(t, p.refused())
	n := 0
	for entry, err := range p.c.AllSessionEvents(t.Context(), "s", client.EventListParams{}) {
		require.NoError(t, err)
		if strings.Contains(string(entry.Event), `"type":"accepted"`) {
			require.Equal(t, fmt.Sprintf("r%d", n), entry.RunID)
			n++
		}
	}
	require.Equal(t, 20, n)
}

// TestAKillBeforeTheRowIsDeleted finds the row as a process leaves it that is killed after the run's
// commit.
func TestAKillBeforeTheRowIsDeleted(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	tx := p.begin()
	runID := p.order(tx, client.CreateRunParams{Input: 1})
	_, err := tx.Exec(t.Context(), "CREATE TABLE left_behind AS SELECT * FROM run_intake")
	require.NoError(t, err)
	p.commit(tx)
	p.settled()
	before, err := p.c.GetRun(t.Context(), runID)
	require.NoError(t, err)

	p.exec("INSERT INTO run_intake SELECT * FROM left_behind")
	p.settled()
	after, err := p.c.GetRun(t.Context(), runID)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Equal(t, 1, p.count("SELECT count(*) FROM runs"))
	require.Empty(t, p.refused())
}

func TestTwoReplicasCreateAThousandRunsOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	open(t, p.pool.Config().ConnString(), holdpoint.Options{})
	for range 10 {
		tx := p.begin()
		for range 100 {
			p.order(tx, client.CreateRunParams{Input: 1})
		}
		p.commit(tx)
	}
	p.settled()
	require.Equal(t, 1000, p.count("SELECT count(*) FROM runs JOIN orders USING (run_id)"))
	require.Equal(t, 1000, p.count("SELECT count(*) FROM runs"))
	require.Empty(t, p.refused())
}

// TestWhatCannotBeCreatedIsListed shows that such a row delays no other.
func TestWhatCannotBeCreatedIsListed(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	ctx := t.Context()
	_, err := p.c.CreateRun(ctx, client.CreateRunParams{RunID: "taken", SessionID: "over", Input: 1})
	require.NoError(t, err)
	_, err = p.c.EndSession(ctx, "over", "")
	require.NoError(t, err)
	tx := p.begin()
	late := p.order(tx, client.CreateRunParams{SessionID: "over", Input: 1})
	p.order(tx, client.CreateRunParams{RunID: "taken", Input: 2})
	good := p.order(tx, client.CreateRunParams{Input: 3})
	p.commit(tx)
	p.settled()
	_, err = p.c.GetRun(ctx, good)
	require.NoError(t, err)

	refused := p.refused()
	require.Len(t, refused, 2)
	require.Equal(t, late, refused[0].RunID)
	require.Equal(t, "over", refused[0].SessionID)
	require.Contains(t, refused[0].Reason, "session_ended")
	require.Contains(t, refused[1].Reason, "id_conflict")
	page, err := p.RefusedRuns(ctx, refused[0].ID, 1)
	require.NoError(t, err)
	require.Equal(t, refused[1:], page)

	again, err := p.RetryRefusedRun(ctx, refused[0].ID)
	require.NoError(t, err)
	require.True(t, again)
	p.settled()
	require.Len(t, p.refused(), 2, "the session is still over")
	for _, one := range p.refused() {
		dropped, err := p.DropRefusedRun(ctx, one.ID)
		require.NoError(t, err)
		require.True(t, dropped)
	}
	require.Zero(t, p.count("SELECT count(*) FROM run_intake"))
	unknown, err := p.DropRefusedRun(ctx, late)
	require.NoError(t, err)
	require.False(t, unknown)
}

func TestInvalidParamsAreRefusedBeforeTheCommit(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	suspending := func(change func(*api.ApprovalRequest)) *api.Suspension {
		request := api.ApprovalRequest{ID: "a", ToolCallID: "c", ToolName: "deploy", Input: api.JSON(`{"key":"secret"}`)}
		change(&request)
		return &api.Suspension{Approvals: []api.ApprovalRequest{request}}
	}
	tx := p.begin()
	for name, params := range map[string]client.CreateRunParams{
		"not JSON":           {Input: api.JSON(`{`)},
		"a duplicate member": {Input: api.JSON(`{"a":1,"a":2}`)},
		"not UTF-8":          {Input: api.JSON("\"\xff\"")},
		"no JSON form":       {Input: func() {}},
		"too large":          {Input: strings.Repeat("x", 1<<20)},
		"too deep":           {Input: api.JSON(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))},
		"a run id":           {Input: 1, RunID: "a/b"},
		"a session id":       {Input: 1, SessionID: "'; DROP TABLE runs; --"},
		"an agent id":        {Input: 1, AgentID: strings.Repeat("x", 1000)},
		"metadata":           {Input: 1, Metadata: "text"},
		"a kind":             {Input: 1, Kind: "other"},
		"a key":              {Input: 1, IdempotencyKey: "k"},
		"a claim":            {Input: 1, Claim: &api.ClaimOptions{WorkerID: "w"}},
		"no tool call id":    {Input: 1, Suspend: suspending(func(r *api.ApprovalRequest) { r.ToolCallID = "" })},
		"an open lease":      {Input: 1, Suspend: &api.Suspension{Hold: true}},
		"a schema":           {Input: 1, Suspend: suspending(func(r *api.ApprovalRequest) { r.InputSchema = api.JSON(`{"type":"nothing"}`) })},
		"a sensitive value":  {Input: 1, Suspend: suspending(func(r *api.ApprovalRequest) { r.SensitivePaths = []string{"/key"} })},
		"a callback":         {Input: 1, Suspend: suspending(func(r *api.ApprovalRequest) { r.Callback = &api.Callback{URL: "https://example.com"} })},
		"four eyes":          {Input: 1, Suspend: suspending(func(r *api.ApprovalRequest) { r.ExcludeRequester = true })},
	} {
		_, err := p.CreateRunTx(t.Context(), tx, params)
		require.ErrorIs(t, err, client.ErrInvalid, name)
	}
	// The transaction is usable, and what a text says is stored as it is.
	hostile := `'); DROP TABLE runs; -- $1 \u0000 \\`
	runID := p.order(tx, client.CreateRunParams{Input: api.JSON(`"` + hostile + `"`)})
	p.commit(tx)
	p.settled()
	claim, err := p.c.ClaimRun(t.Context(), runID, api.ClaimOptions{WorkerID: "w"})
	require.NoError(t, err)
	require.Equal(t, `"`+hostile+`"`, string(claim.Input))
	require.Equal(t, 1, p.count("SELECT count(*) FROM runs"))
}

func TestOnlyPostgresTakesRunsOfTransactions(t *testing.T) {
	t.Parallel()
	service := open(t, "sqlite::memory:", holdpoint.Options{})
	_, err := service.CreateRunTx(t.Context(), nil, client.CreateRunParams{Input: 1})
	require.ErrorIs(t, err, holdpoint.ErrNeedsPostgres)
	_, err = service.RefusedRuns(t.Context(), "", 1)
	require.ErrorIs(t, err, holdpoint.ErrNeedsPostgres)
}
