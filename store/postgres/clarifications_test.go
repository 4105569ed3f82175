package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// carryOut performs due effects until there are none, and returns their number.
func carryOut(tb testing.TB, s *Store) (done int) {
	tb.Helper()
	for {
		due, err := s.DueEffects(context.Background(), 10)
		require.NoError(tb, err)
		if len(due) == 0 {
			return done
		}
		for _, owed := range due {
			effect := do(tb, s, &runs.ClaimEffect{SessionID: owed.SessionID, EffectID: owed.EffectID}).Effect
			command, err := runs.CommandOf(effect)
			require.NoError(tb, err)
			do(tb, s, command)
			do(tb, s, &runs.FinishEffect{SessionID: owed.SessionID, EffectID: owed.EffectID, Attempt: effect.Attempts})
			done++
		}
	}
}

func TestAChildAsksAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{"straight": {}, "through a pool": {Pooler: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := open(t, postgrestest.URL(t), options)
			do(t, s, &runs.CreateSession{SessionID: "parent"})
			do(t, s, &runs.CreateSession{SessionID: "child", ParentSessionID: "parent"})
			do(t, s, &runs.CreateRun{SessionID: "child", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
			do(t, s, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
			question := api.UserQuestionRequest{ID: "q", ToolCallID: "call", Kind: "value", ResponseSchema: api.JSON(`{"type":"string"}`)}
			asked := do(t, s, &runs.AskClarification{RunID: "r", Fence: 1, Request: question, Park: true, Checkpoint: api.JSON(`"point"`)})
			again := do(t, s, &runs.AskClarification{RunID: "r", Fence: 1, Request: question, Park: true, Checkpoint: api.JSON(`"point"`)})
			require.True(t, again.Existing)
			require.Equal(t, asked.Clarification, again.Clarification)
			require.Equal(t, 1, carryOut(t, s))

			// Only the parent's session is asked for an answer.
			child, err := s.Session(ctx, "child")
			require.NoError(t, err)
			require.Empty(t, child.Besides)
			parent, err := s.Session(ctx, "parent")
			require.NoError(t, err)
			require.Len(t, parent.Besides, 1)
			inbox, err := s.PendingRequests(ctx, reads.RequestQuery{Kind: model.KindQuestion, Limit: 10})
			require.NoError(t, err)
			require.Equal(t, parent.Besides, inbox)
			require.Contains(t, string(inbox[0].Requester), `"requester_run_id":"r"`)
			clarification, err := s.Run(ctx, asked.Clarification.RunID)
			require.NoError(t, err)
			require.Equal(t, inbox[0].Requester, clarification.Run.Requester)
			summaries, err := s.Sessions(ctx, reads.SessionQuery{Limit: 10})
			require.NoError(t, err)
			require.Equal(t, []int{0, 1}, []int{summaries[0].PendingQuestions, summaries[1].PendingQuestions})

			answer := runs.QuestionAnswer{RequestID: "q", Value: api.JSON(`"here you are"`)}
			for range 2 { // a repeated answer finds the finished run by its request
				do(t, s, &runs.AnswerQuestion{SessionID: "parent", Resolution: answer})
			}
			require.Equal(t, 1, carryOut(t, s))
			parent, err = s.Session(ctx, "parent")
			require.NoError(t, err)
			require.Empty(t, parent.Besides)

			claim := do(t, s, &runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
			require.Equal(t, `"here you are"`, string(claim.Resume.Clarification.Value))
			require.Empty(t, do(t, s, &runs.ReadMailbox{SessionID: "child"}).Messages)
			acknowledged := do(t, s, &runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("q")})
			require.True(t, acknowledged.Existing, "the claim has acknowledged it")

			question.ID = "q2"
			do(t, s, &runs.AskClarification{RunID: "r", Fence: 2, Request: question})
			require.Equal(t, 1, carryOut(t, s))
			require.True(t, do(t, s, &runs.InterruptSession{SessionID: "parent"}).Interrupted)
			require.Equal(t, 1, carryOut(t, s))
			messages := do(t, s, &runs.ReadMailbox{SessionID: "child"}).Messages
			require.Len(t, messages, 1)
			require.Contains(t, string(messages[0].Payload), `"declined":true`)

			seen := map[string][]any{}
			require.NoError(t, s.Walk(ctx, func(rows *model.SessionRows) error {
				for effect, err := range rows.Effects {
					require.NoError(t, err)
					seen[rows.SessionID] = append(seen[rows.SessionID], effect.Kind, effect.State)
				}
				for message, err := range rows.Messages {
					require.NoError(t, err)
					seen[rows.SessionID] = append(seen[rows.SessionID], message.State)
				}
				return nil
			}))
			require.Len(t, seen, 2)
			for sessionID, want := range map[string][]any{
				"child": {
					api.EffectOpenClarification, api.EffectDone, api.EffectOpenClarification, api.EffectDone,
					api.MessageAcknowledged, api.MessagePending,
				},
				"parent": {api.EffectDeliverAnswer, api.EffectDone, api.EffectDeliverAnswer, api.EffectDone},
			} {
				require.ElementsMatch(t, want, seen[sessionID], sessionID)
			}
		})
	}
}

func TestEffectsByStateAndPage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	_, err := s.lanes.Exec(ctx, `
INSERT INTO effects (created_at_ms, due_at_ms, attempts, finished_at_ms, session_id, effect_id, run_id, kind, state, target_session_id, payload)
SELECT 5 - n / 2, CASE WHEN n % 3 = 0 THEN 9 - n END, 0, CASE WHEN n % 3 <> 0 THEN 1 END, 's' || n % 2, 'f' || n, 'r', 'deliver_answer',
	CASE n % 3 WHEN 0 THEN 'pending' WHEN 1 THEN 'failed' ELSE 'done' END, 't', '{}'
FROM generate_series(0, 7) AS n`)
	require.NoError(t, err)
	for _, test := range []struct {
		query reads.EffectQuery
		want  []string
	}{
		{reads.EffectQuery{}, []string{"f6", "f7", "f4", "f5", "f2", "f3", "f0", "f1"}},
		{reads.EffectQuery{SessionID: "s0"}, []string{"f6", "f4", "f2", "f0"}},
		{reads.EffectQuery{State: api.EffectPending}, []string{"f6", "f3", "f0"}},
		{reads.EffectQuery{State: api.EffectFailed}, []string{"f7", "f4", "f1"}},
		{reads.EffectQuery{State: api.EffectDone}, []string{"f5", "f2"}},
		{reads.EffectQuery{State: api.EffectFailed, SessionID: "s1"}, []string{"f7", "f1"}},
		{reads.EffectQuery{State: "unknown"}, nil},
		{reads.EffectQuery{SessionID: "\x00"}, nil},
	} {
		test.query.Limit = 1 // so that each row is a cursor
		var got []string
		for {
			page, err := s.Effects(ctx, test.query)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			got = append(got, page[0].EffectID)
			test.query.After = &reads.EffectPosition{CreatedAtMs: page[0].CreatedAtMs, EffectID: page[0].EffectID}
		}
		require.Equal(t, test.want, got, "%+v", test.query)
	}
	newest, err := s.Effects(ctx, reads.EffectQuery{State: api.EffectFailed, Newest: true, Limit: 2})
	require.NoError(t, err)
	require.Len(t, newest, 2)
	require.Equal(t, []string{"f1", "f4"}, []string{newest[0].EffectID, newest[1].EffectID})
	due, err := s.DueEffects(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []reads.DueEffect{{SessionID: "s0", EffectID: "f6"}, {SessionID: "s1", EffectID: "f3"}}, due)
}

// Lists of pending, failed, or one session's effects do not read the finished ones, even if
// there seem to be many.
func TestListsOfEffectsPassOverWhatIsDone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, postgrestest.URL(t))
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
INSERT INTO effects (created_at_ms, due_at_ms, attempts, finished_at_ms, session_id, effect_id, run_id, kind, state, target_session_id, payload)
SELECT n, CASE WHEN n > 18000 THEN n END, 0, CASE WHEN n <= 18000 THEN n END, CASE WHEN n > 16000 THEN 's' ELSE 's' || n END,
	'f' || n, 'r', 'deliver_answer', CASE WHEN n > 18000 THEN 'pending' WHEN n > 16000 THEN 'failed' ELSE 'done' END, 't', '{}'
FROM generate_series(1, 20000) AS n;
ANALYZE effects;`+sqlReadSettings)
	require.NoError(t, err)
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		_, err = conn.Exec(ctx, "SET plan_cache_mode = "+mode)
		require.NoError(t, err)
		for index, q := range map[string]reads.EffectQuery{
			"effects_due": {State: api.EffectPending}, "effects_failed": {State: api.EffectFailed},
			"effects_pkey": {SessionID: "s"}, "effects_list": {},
		} {
			for _, after := range []*reads.EffectPosition{nil, {CreatedAtMs: 10, EffectID: "f"}} {
				q.After, q.Limit = after, 50
				sql, args := effectPage(q)
				_, err := conn.Prepare(ctx, "list", sql)
				require.NoError(t, err)
				var values []string
				for _, arg := range args {
					values = append(values, fmt.Sprintf("'%v'", arg))
				}
				rows, err := conn.Query(ctx, "EXPLAIN EXECUTE list ("+strings.Join(values, ", ")+")", pgx.QueryExecModeSimpleProtocol)
				require.NoError(t, err)
				lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
				require.NoError(t, err)
				require.Contains(t, strings.Join(lines, "\n"), index, "%s %+v", mode, q)
				require.NoError(t, conn.Deallocate(ctx, "list"))
			}
		}
	}
}

// A database may be old when its first effect is written, and the plans for a table
// that is empty walk all of it.
func TestPlansForEffectsAreMadeAgainAsTheyGrow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	conn, err := s.lanes.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	lane := &transaction{conn: conn}
	old := func(times int, needs runs.Needs) (at []int) {
		for n := 1; n <= times; n++ {
			if lane.plansAreOld([]door.Load{{Needs: []runs.Needs{needs}}}) {
				at = append(at, n)
			}
		}
		return at
	}
	require.Equal(t, []int{8, 32, 128}, old(500, runs.Needs{RunID: "r", RunMessages: true}))
	require.Equal(t, []int{8, 12}, old(20, runs.Needs{EffectID: "f"}), "the eighth of its kind, the 512th of all")
	require.Equal(t, []int{12}, old(12, runs.Needs{MessageID: "m"}), "the 32nd of its kind")
}

// effectPage returns the statement of a page of effects.
func effectPage(q reads.EffectQuery) (string, []any) {
	asked := storetest.AskedBy(&readStatements, func(r *read.Reader) { _, _ = r.Effects(context.Background(), q) })
	return asked[0].SQL, asked[0].Args
}
