package database

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

func TestMain(m *testing.M) { rig.Main(m) }

const (
	oldKey = "old:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	newKey = "new:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
)

// secretColumns are the columns of both schemas with secrets, by their names: true for
// columns with a data key, which rewrap must reach. The others need no key: they hold a
// hash, or a value encrypted under the data key in the same row.
var secretColumns = map[string]bool{
	"runs.data_key": true, "webhooks.data_key": true,
	"requests.sealed": true, // with the data key of a callback
	"webhooks.secret": false, "webhooks.previous_secret": false,
	"tokens.secret_hash": false, "tokens.previous_hash": false, "tokens.previous_until_ms": false,
	"webhooks.previous_until_ms": false, "rule_changes.previous": false, "runs.secrets_erased": false,
}

var soundsSecret = regexp.MustCompile(`secret|sealed|data_key|cipher|encrypt|wrapped|password|private|previous`)

// After a rewrap every data key in the database is encrypted with the first key, in
// whatever column, and the values under it can still be read.
func TestRewrapReachesEveryDataKey(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "data.db")
			driver, url, database := "sqlite", file, "sqlite:"+file
			if engine == "postgres" {
				database = postgrestest.URL(t)
				driver, url = "pgx", database
			}
			parse := func(lines ...string) *sealing.Keys {
				keys, err := sealing.Parse(strings.Join(lines, "\n"))
				require.NoError(t, err)
				return keys
			}
			both := parse(newKey, oldKey)
			service := inprocess.Start(t, database, inprocess.Options{
				Sealer: parse(oldKey), WebhookGuard: egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
			})
			ctx := rig.Soon(t)
			c, err := client.New(service.URL)
			require.NoError(t, err)
			t.Cleanup(c.Close)
			nowhere := "http://127.0.0.1:1/"
			callback := &api.Callback{URL: nowhere, Token: "token-of-the-caller-0123456789"}
			made, err := c.CreateWebhook(ctx, api.WebhookBody{URL: &nowhere})
			require.NoError(t, err)
			_, err = c.RotateWebhook(ctx, made.Webhook.WebhookID, api.RotateWebhookBody{})
			require.NoError(t, err)
			suspension := rig.Approvals("open", "settled")
			for i := range suspension.Approvals {
				suspension.Approvals[i].Callback = callback
				suspension.Approvals[i].SensitivePaths = []string{"/to"}
			}
			suspension.Questions = []api.UserQuestionRequest{rig.Question("way")}
			suspension.Questions[0].Sensitive, suspension.Questions[0].Callback = true, callback
			run, err := c.CreateRun(ctx, client.CreateRunParams{SessionID: "s", Input: 1, Suspend: suspension})
			require.NoError(t, err)
			_, err = c.ResolveRunApprovals(ctx, run.RunID, rig.Decide(rig.Allow("settled")))
			require.NoError(t, err)
			over, err := c.CreateRun(ctx, client.CreateRunParams{SessionID: "over", Input: 1, Suspend: &api.Suspension{
				Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`1`), Callback: callback}},
			}})
			require.NoError(t, err)
			_, err = c.CancelRun(ctx, over.RunID, "")
			require.NoError(t, err)

			db, err := sql.Open(driver, url)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			columns := columnsOf(t, db, engine)
			for _, column := range columns {
				if _, known := secretColumns[column]; !known {
					require.NotRegexp(t, soundsSecret, strings.SplitN(column, ".", 2)[1], "does secrets rewrap reach it? Say so in secretColumns, and put a value there above")
				}
			}
			var sealed []string
			for column, has := range secretColumns {
				require.Contains(t, columns, column)
				if has {
					sealed = append(sealed, column)
				}
			}
			slices.Sort(sealed)
			require.Equal(t, sealed, columnsWith(t, db, columns, "v1.old."), "the columns in which there are data keys")

			opened, is := service.Store.(store.Store)
			require.True(t, is)
			nowMs := func() int64 { return 1 }
			done, err := rewrapAll(ctx, opened, parse(newKey), nowMs)
			require.ErrorContains(t, err, "old")
			require.Zero(t, done.Changed)
			_, unreadable, err := rewrapCallbacks(ctx, opened, parse(newKey))
			require.NoError(t, err)
			require.Equal(t, 4, unreadable, "one that cannot be read harms only itself")
			done, err = rewrapAll(ctx, opened, both, nowMs)
			require.NoError(t, err)
			require.Equal(t, rewrapped{Changed: 6, KeyID: "new"}, done, "a webhook, a run and four callbacks")
			require.Empty(t, columnsWith(t, db, columns, "v1.old."))
			require.Equal(t, sealed, columnsWith(t, db, columns, "v1.new."))
			done, err = rewrapAll(ctx, opened, parse(newKey), nowMs)
			require.NoError(t, err)
			require.Zero(t, done.Changed+done.Unreadable)
		})
	}
}

// meanwhile is a store in which runs are deleted or end after their keys were read.
type meanwhile struct {
	keys    []reads.RunKey
	replies map[string]error // by run; nil for one that has ended
}

func (m *meanwhile) DataKeys(context.Context, string, int) ([]reads.RunKey, error) {
	return m.keys, nil
}

func (m *meanwhile) Do(_ context.Context, command runs.Command) (runs.Reply, error) {
	err, concurrent := m.replies[command.(*runs.RewrapDataKey).RunID]
	return runs.Reply{Existing: concurrent && err == nil}, err
}

// A run that is deleted or ends meanwhile has no key any more: it is not counted, and the other runs follow.
func TestRewrapSkipsRunsThatAreGone(t *testing.T) {
	t.Parallel()
	parse := func(lines string) *sealing.Keys {
		keys, err := sealing.Parse(lines)
		require.NoError(t, err)
		return keys
	}
	wrapped := parse(oldKey).NewDataKey()
	opened := &meanwhile{replies: map[string]error{"gone": refusal.UnknownRun("gone"), "ended": nil}}
	for _, runID := range []string{"gone", "ended", "open"} {
		opened.keys = append(opened.keys, reads.RunKey{SessionID: "s", RunID: runID, DataKey: wrapped})
	}
	changed, err := rewrapRuns(t.Context(), opened, parse(newKey+"\n"+oldKey))
	require.NoError(t, err)
	require.Equal(t, 1, changed)

	opened.replies["ended"] = runs.ErrUnavailable
	_, err = rewrapRuns(t.Context(), opened, parse(newKey+"\n"+oldKey))
	require.ErrorIs(t, err, runs.ErrUnavailable)
}

// Keys of callbacks are required as long as a callback is pending, and no longer.
func TestKeysOfCallbacksAreAskedForAtStart(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database := "sqlite:" + filepath.Join(t.TempDir(), "data.db")
			if engine == "postgres" {
				database = postgrestest.URL(t)
			}
			parse := func(line string) *sealing.Keys {
				keys, err := sealing.Parse(line)
				require.NoError(t, err)
				return keys
			}
			endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			t.Cleanup(endpoint.Close)
			service := inprocess.Start(t, database, inprocess.Options{
				Sealer: parse(oldKey), WebhookGuard: egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
			})
			ctx := rig.Soon(t)
			c, err := client.New(service.URL)
			require.NoError(t, err)
			t.Cleanup(c.Close)
			opened, is := service.Store.(store.Store)
			require.True(t, is)
			raise := func(url string) (runID string) {
				run, err := c.CreateRun(ctx, client.CreateRunParams{Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{
					{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`1`), Callback: &api.Callback{URL: url, Token: "token-of-the-caller-0123456789"}},
				}}})
				require.NoError(t, err)
				return run.RunID
			}
			refused := func(what, runID string) {
				for _, keys := range []*sealing.Keys{nil, parse(newKey)} {
					err := store.CheckSecretKeys(ctx, opened, keys)
					require.ErrorContains(t, err, what+runID)
					require.ErrorContains(t, err, "encrypted with the key old")
					require.ErrorContains(t, err, "--secret-key-file")
				}
				require.NoError(t, store.CheckSecretKeys(ctx, opened, parse(oldKey)))
			}
			posted := raise(endpoint.URL)
			refused("the callback of request a of run ", posted)
			_, err = c.CancelRun(ctx, posted, "")
			require.NoError(t, err)
			rig.Await(t, func() bool {
				page, err := c.ListEffects(ctx, client.EffectListParams{WebhookID: api.CallbackWebhookID, State: api.EffectDone})
				return err == nil && len(page.Items) == 1
			})
			require.NoError(t, store.CheckSecretKeys(ctx, opened, nil))

			owed := raise("http://127.0.0.1:1/")
			_, err = c.CancelRun(ctx, owed, "")
			require.NoError(t, err)
			refused("the callback of request a of run ", owed)
		})
	}
}

// columnsOf returns the columns of the schema as table.column.
func columnsOf(t *testing.T, db *sql.DB, engine string) (columns []string) {
	t.Helper()
	query := `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public'`
	if engine == "sqlite" {
		query = `SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`
	}
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var column string
		require.NoError(t, rows.Scan(&column))
		columns = append(columns, column)
	}
	require.NoError(t, rows.Err())
	require.Greater(t, len(columns), 100)
	return columns
}

// columnsWith returns the columns that contain a text.
func columnsWith(t *testing.T, db *sql.DB, columns []string, text string) (found []string) {
	t.Helper()
	for _, column := range columns {
		table, name, _ := strings.Cut(column, ".")
		var count int
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM `+table+` WHERE CAST(`+name+` AS text) LIKE '%`+text+`%'`).Scan(&count))
		if count > 0 {
			found = append(found, column)
		}
	}
	slices.Sort(found)
	return found
}
