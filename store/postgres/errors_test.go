package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestRefusalIsOnlyWhatCertainlyWasNotCommitted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err     error
		refused bool
	}{
		"unique violation":      {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23505", ConstraintName: "sessions_pkey"}, true},
		"check violation":       {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23514"}, true},
		"serialization failure": {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "40001"}, true},
		"deadlock":              {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "40P01"}, true},
		"lock timeout":          {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "55P03"}, true},
		"statement timeout":     {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "57014"}, true},
		"bad text":              {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "22021"}, true},
		"index row too large":   {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "54000"}, true},
		"no such column":        {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "42703"}, false},
		"disk full":             {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "53100"}, false},
		"server shuts down":     {&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, false},
		"timeout that is fatal": {&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "40001"}, false},
		"connection lost":       {errors.New("unexpected EOF"), false},
		"gave up waiting":       {context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := asRefusal(fmt.Errorf("insert: %w", test.err))
			require.Equal(t, test.refused, errors.Is(err, door.ErrRefused))
			require.ErrorIs(t, err, test.err)
		})
	}
}

// Whatever writes these tables, the states that must not be are refused by name.
func TestIllegalStatesAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t))
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
INSERT INTO sessions (queued_count, last_event_id, created_at_ms, updated_at_ms, session_id, agent_id)
	VALUES (0, 9, 1, 1, 's', 'a');
INSERT INTO runs (submitted_at_ms, updated_at_ms, first_event_id, last_event_id, attempt, stalled_attempts, fence,
		raised_count, settled_count, resume_after, output_count, question_count, attached, status, session_id, run_id,
		agent_id, kind, payload_digest, source_plugin, source_kind, actor_id, input, claimable_at_ms)
	SELECT 1, 1, 1, 9, 0, 0, 0, 1, 0, 0, 0, 0, false, status, 's', id, 'a', 'input', '', '', '', '', '1', claimable
	FROM (VALUES ('running', 'running', 1::bigint), ('queued', 'queued', NULL)) AS r (id, status, claimable);
INSERT INTO requests (number, created_at_ms, session_id, run_id, request_id, kind, handle, suspension_id, suspension_digest, body)
	VALUES (1, 1, 's', 'running', 'q', 'approval', 'h', 'u', '', '{}')`)
	require.NoError(t, err)
	for sql, constraint := range map[string]string{
		`UPDATE sessions SET ended_at_ms = 1, active_run_id = 'r'`: "sessions_ended_is_idle",
		`UPDATE sessions SET queued_count = -1`:                    "sessions_queued_count_not_negative",
		`INSERT INTO sessions SELECT * FROM sessions`:              "sessions_pkey",

		`UPDATE runs SET status = 'paused' WHERE run_id = 'running'`:                                                                    "runs_status_known",
		`UPDATE runs SET claimable_at_ms = NULL WHERE run_id = 'running'`:                                                               "runs_running_is_claimable",
		`UPDATE runs SET status = 'waiting_for_approval' WHERE run_id = 'running'`:                                                      "runs_waiting_is_not_claimable",
		`UPDATE runs SET status = 'completed', claimable_at_ms = NULL WHERE run_id = 'running'`:                                         "runs_finished_when_over",
		`UPDATE runs SET finished_at_ms = 1 WHERE run_id = 'running'`:                                                                   "runs_finished_when_over",
		`UPDATE runs SET status = 'failed', finished_at_ms = 1 WHERE run_id = 'running'`:                                                "runs_over_is_not_held",
		`UPDATE runs SET lease_expires_at_ms = 1 WHERE run_id = 'running'`:                                                              "runs_lease_has_holder",
		`UPDATE runs SET fence = 1, worker_id = 'w' WHERE run_id = 'queued'`:                                                            "runs_queued_was_never_held",
		`UPDATE runs SET output = '1' WHERE run_id = 'running'`:                                                                         "runs_output_of_completed",
		`UPDATE runs SET settled_count = 2 WHERE run_id = 'running'`:                                                                    "runs_settled_were_raised",
		`UPDATE runs SET resume_after = 1 WHERE run_id = 'running'`:                                                                     "runs_resume_of_settled",
		`UPDATE runs SET lease_end = 'stolen' WHERE run_id = 'running'`:                                                                 "runs_lease_end_known",
		`UPDATE runs SET first_event_id = 10 WHERE run_id = 'running'`:                                                                  "runs_events_in_order",
		`UPDATE runs SET session_id = 'other', run_id = 'running' WHERE run_id = 'queued'`:                                              "runs_run_id_key",
		`UPDATE requests SET outcome = 'allowed'`:                                                                                       "requests_settled_whole",
		`UPDATE requests SET settled_number = 1`:                                                                                        "requests_settled_whole",
		`UPDATE requests SET outcome = 'answered', settled_number = 1, settled_at_ms = 1, resolution = '{}'`:                            "requests_outcome_fits_kind",
		`UPDATE requests SET outcome = 'maybe', settled_number = 1, settled_at_ms = 1, resolution = '{}'`:                               "requests_outcome_fits_kind",
		`UPDATE requests SET outcome = 'denied', settled_number = 1, settled_at_ms = 1, resolution = '{}', due_at_ms = 1`:               "requests_due_while_open",
		`INSERT INTO events (event_id, timestamp_ms, session_id, run_id, agent_id, type, body) VALUES (0, 1, 's', 'r', 'a', 't', '{}')`: "events_event_id_positive",
	} {
		_, err := conn.Exec(ctx, sql)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, sql)
		require.Equal(t, constraint, refused.ConstraintName, "%s: %v", sql, err)
	}
}
