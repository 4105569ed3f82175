package sqlite

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

func TestReadsOfClarifications(t *testing.T) {
	t.Parallel()
	nowMs := int64(4)
	store := openInMemory(t, Options{NowMs: func() int64 { return nowMs }})
	parentAndChild(t, store)

	session, err := store.Session(t.Context(), "parent")
	require.NoError(t, err)
	require.Len(t, session.Besides, 2)
	for at, runID := range []string{"c-1", "c-2"} {
		pending := session.Besides[at]
		require.Equal(t, runID, pending.Request.RunID)
		require.Equal(t, api.KindParentClarification, pending.RunKind)
		require.JSONEq(t, `{"requester_run_id":"asking"}`, string(pending.Requester))
	}
	session, err = store.Session(t.Context(), "child")
	require.NoError(t, err)
	require.Empty(t, session.Besides)

	summaries, err := store.Sessions(t.Context(), reads.SessionQuery{Limit: 10})
	require.NoError(t, err)
	require.Len(t, summaries, 2)
	require.Zero(t, summaries[0].PendingQuestions, "the child's questions are the parent's to answer")
	require.Equal(t, 2, summaries[1].PendingQuestions)

	run, err := store.Run(t.Context(), "c-over")
	require.NoError(t, err)
	require.JSONEq(t, `{"requester_run_id":"asking"}`, string(run.Run.Requester))

	due, err := store.DueEffects(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, due)
	nowMs = 5
	due, err = store.DueEffects(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []reads.DueEffect{{SessionID: "child", EffectID: "open:c-1"}, {SessionID: "child", EffectID: "open:c-2"}}, due)
}

func TestEffectsByStateAndPage(t *testing.T) {
	t.Parallel()
	store := openInMemory(t, Options{})
	parentAndChild(t, store)
	var w runs.Writes
	for at, state := range []api.EffectState{api.EffectDone, api.EffectFailed, api.EffectDone, api.EffectFailed} {
		w.NewEffects = append(w.NewEffects, &model.Effect{
			SessionID: "parent", EffectID: fmt.Sprintf("answer:%d", at), RunID: "c-over", Kind: api.EffectDeliverAnswer,
			State: state, TargetSessionID: "child", Payload: api.JSON(`{}`), CreatedAtMs: int64(4 - at), FinishedAtMs: 9, Attempts: 1,
		})
	}
	require.NoError(t, commit(t.Context(), store, w))
	for _, test := range []struct {
		query reads.EffectQuery
		want  []string
	}{
		{reads.EffectQuery{}, []string{"answer:3", "open:c-1", "open:c-2", "open:c-over", "answer:2", "answer:1", "answer:0"}},
		{reads.EffectQuery{SessionID: "parent"}, []string{"answer:3", "answer:2", "answer:1", "answer:0"}},
		{reads.EffectQuery{State: api.EffectPending}, []string{"open:c-1", "open:c-2", "open:c-over"}},
		{reads.EffectQuery{State: api.EffectPending, SessionID: "parent"}, nil},
		{reads.EffectQuery{State: api.EffectFailed}, []string{"answer:3", "answer:1"}},
		{reads.EffectQuery{State: api.EffectDone, SessionID: "parent"}, []string{"answer:2", "answer:0"}},
	} {
		// A page holds one effect, to try every cursor.
		test.query.Limit = 1
		var got []string
		for {
			page, err := store.Effects(t.Context(), test.query)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			got = append(got, page[0].EffectID)
			test.query.After = &reads.EffectPosition{CreatedAtMs: page[0].CreatedAtMs, EffectID: page[0].EffectID}
		}
		require.Equal(t, test.want, got, "%+v", test.query)
	}
	newest, err := store.Effects(t.Context(), reads.EffectQuery{State: api.EffectFailed, Newest: true, Limit: 5})
	require.NoError(t, err)
	require.Len(t, newest, 2)
	require.Equal(t, []string{"answer:1", "answer:3"}, []string{newest[0].EffectID, newest[1].EffectID})
}
