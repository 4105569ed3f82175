package docstest

import (
	"database/sql"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// TestRolesOfTheReview: with the SQL of docs/security-review.md one role migrates, the service only reads
// and writes rows, and doctor only reads.
func TestRolesOfTheReview(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs/security-review.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)<!-- test:roles -->\n```sql\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	administrator := postgrestest.URL(t)
	connect := func(address string) *sql.DB {
		db, err := sql.Open("pgx", address)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	_, err = connect(administrator).ExecContext(t.Context(), string(block[1]))
	require.NoError(t, err)
	as := func(role string) string {
		address, err := url.Parse(administrator)
		require.NoError(t, err)
		if query := address.Query(); query.Has("user") {
			query.Set("user", role)
			address.RawQuery = query.Encode()
		}
		address.User = url.User(role)
		return address.String()
	}

	served := regexp.MustCompile("(?s)<!-- test:served -->\n```sh\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, served)
	lines := strings.Split(strings.TrimSpace(regexp.MustCompile(`postgres://(\w+)@db\.example/holdpoint`).ReplaceAllStringFunc(string(served[1]), func(shown string) string {
		role, err := url.Parse(shown)
		require.NoError(t, err)
		return as(role.User.Username())
	})), "\n")
	require.Len(t, lines, 2)
	code, stderr := runIn(t.Context(), nil, wordsOf(t, lines[0])[1:], io.Discard)
	require.Zero(t, code, "%s: %s", lines[0], stderr)
	startOnce(t, lines[1], wordsOf(t, lines[1])[1:], func(url string) { decideOnce(t, url) })

	inspector, err := postgres.OpenInspector(t.Context(), as("holdpoint_reader"))
	require.NoError(t, err)
	found, err := doctor.Examine(t.Context(), inspector, func(finding doctor.Finding) { t.Error(finding) })
	require.NoError(t, err)
	require.NotZero(t, found.Rows.Runs)
	require.NoError(t, inspector.Close())

	refused := func(role, statement string) {
		_, err := connect(as(role)).ExecContext(t.Context(), statement)
		var said *pgconn.PgError
		require.ErrorAs(t, err, &said, "%s: %s", role, statement)
		require.Equal(t, "42501", said.Code, "%s: %s: %s", role, statement, said.Message)
	}
	for _, statement := range []string{"CREATE TABLE mine (a int)", "DROP TABLE runs", "ALTER TABLE runs ADD COLUMN a int", "TRUNCATE runs", "CREATE SCHEMA mine", "DROP SCHEMA holdpoint"} {
		refused("holdpoint_service", statement)
		refused("holdpoint_reader", statement)
	}
	refused("holdpoint_reader", "DELETE FROM runs")
	// A table of a later migration has the same rights.
	_, err = connect(as("holdpoint_owner")).ExecContext(t.Context(), "CREATE TABLE later (a int)")
	require.NoError(t, err)
	_, err = connect(as("holdpoint_service")).ExecContext(t.Context(), "INSERT INTO later VALUES (1)")
	require.NoError(t, err)
}

// decideOnce makes a token and has a run go on after a decision, with the rights that the service has.
func decideOnce(t *testing.T, url string) {
	t.Helper()
	first, err := client.New(url)
	require.NoError(t, err)
	defer first.Close()
	admin, err := first.CreateToken(t.Context(), api.CreateTokenBody{Name: "ada", Role: api.RoleAdmin})
	require.NoError(t, err)
	ada, err := client.New(url, client.WithToken(admin.Secret))
	require.NoError(t, err)
	defer ada.Close()
	_, err = ada.CreateRun(t.Context(), client.CreateRunParams{RunID: "r", SessionID: "s", AgentID: "a", Suspend: &api.Suspension{
		Approvals: []api.ApprovalRequest{{ID: "p", ToolCallID: "c", ToolName: "deploy", Input: api.JSON(`{}`)}},
	}})
	require.NoError(t, err)
	_, err = ada.ResolveRunApprovals(t.Context(), "r", client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "p", Behavior: api.BehaviorAllow}}})
	require.NoError(t, err)
	claimed, err := ada.ClaimRun(t.Context(), "r", api.ClaimOptions{WorkerID: "w"})
	require.NoError(t, err)
	_, err = ada.CompleteRun(t.Context(), "r", claimed.Lease.Fence, api.JSON(`{}`))
	require.NoError(t, err)
}

// TestTheReviewListsOurErrors: each SQLSTATE that a statement of the service raises.
func TestTheReviewListsOurErrors(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs/security-review.md"))
	require.NoError(t, err)
	code, err := os.ReadFile(filepath.Join(root, "store", "postgres", "errors.go"))
	require.NoError(t, err)
	raised := regexp.MustCompile(`"(HP\d{3})"`).FindAllStringSubmatch(string(code), -1)
	require.NotEmpty(t, raised)
	for _, one := range raised {
		require.Contains(t, string(page), "| `"+one[1]+"` |")
	}
}
