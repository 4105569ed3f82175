package telemetry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/door"
)

// database returns fixed counts, or fails.
type database struct {
	vitals *model.Vitals
	err    error
	asked  int
}

func (d *database) Vitals(context.Context, int) (*model.Vitals, error) {
	d.asked++
	return d.vitals, d.err
}

func read(t *testing.T, metrics *Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	return "\n" + answer.Body.String()
}

func TestCountsOfTheDatabaseAreAskedSeldom(t *testing.T) {
	t.Parallel()
	const now = 10_000_000
	asked := &database{vitals: &model.Vitals{
		NowMs: now,
		Waits: []model.WaitTally{
			{Kind: model.KindApproval, Age: model.WaitUnderMinute, Tally: model.Tally{Count: 3, OldestMs: now - 2_000}},
			{Kind: model.KindApproval, Age: model.WaitUnderHour, Tally: model.Tally{Count: 2, OldestMs: now - 90_000}},
		},
		Effects: []model.EffectTally{
			{Kind: api.EffectDeliverAnswer, State: api.EffectPending, Tally: model.Tally{Count: 4, OldestMs: now - 500}},
			{Kind: api.EffectDeliverWebhook, State: api.EffectPending, Tally: model.Tally{Count: 6, OldestMs: now - 600_000}},
			{Kind: api.EffectDeliverAnswer, State: api.EffectFailed, Tally: model.Tally{Count: 1, OldestMs: 1}},
		},
		Overdue: model.Tally{Count: 1, OldestMs: now - 1_500},
		Rules:   model.Tally{Count: 7, OldestMs: 1},
		Intake:  model.Tally{Count: 8, OldestMs: now - 2_000}, RefusedRuns: model.Tally{Count: 9, OldestMs: 1},
	}}
	clock := time.Unix(1, 0)
	metrics := New("test")
	metrics.Watch(Source{
		Store: asked, Now: func() time.Time { return clock },
		Lanes:   func() []door.LaneState { return []door.LaneState{{Lane: 1, Oldest: 1500 * time.Millisecond}} },
		Pools:   func() []door.PoolState { return nil },
		Streams: func() int { return 5 }, Connections: func() int { return 11 }, Held: func() int { return 6 },
		Callers: func() Callers {
			return Callers{Count: 7, Rate: 1.5, Calls: 8, Held: 12, Streams: 9, Bytes: 10, Stored: 0.25, MCP: 0.5, Connections: 0.75, Callbacks: 1}
		},
		Backlog: func() (int64, int64) { return 11, 12 },
	})
	text := read(t, metrics)
	for _, line := range []string{
		`holdpoint_waits{age="under_1m",kind="approval"} 3`, `holdpoint_waits{age="1m_to_1h",kind="approval"} 2`, `holdpoint_waits{age="over_7d",kind="question"} 0`,
		`holdpoint_effects_owed{kind="deliver_webhook"} 6`, `holdpoint_oldest_effect_owed_seconds{kind="deliver_webhook"} 600`,
		`holdpoint_oldest_wait_seconds{kind="approval"} 90`, `holdpoint_effects_owed{kind="deliver_answer"} 4`,
		`holdpoint_oldest_effect_owed_seconds{kind="deliver_answer"} 0.5`, `holdpoint_effects_failed{kind="deliver_answer"} 1`,
		`holdpoint_sweep_lag_seconds 1.5`, `holdpoint_rules_in_force 7`, `holdpoint_intake_runs 8`, `holdpoint_oldest_intake_seconds 2`, `holdpoint_refused_runs 9`, `holdpoint_lane_oldest_seconds{lane="1"} 1.5`,
		`holdpoint_streams 5`, `holdpoint_call_connections 11`, `holdpoint_held_claims 6`, `holdpoint_callers 7`, `holdpoint_busiest_caller_stored_ratio 0.25`, `holdpoint_busiest_caller_rate_ratio 1.5`, `holdpoint_busiest_caller_calls 8`, `holdpoint_busiest_caller_held_calls 12`, `holdpoint_busiest_caller_streams 9`, `holdpoint_busiest_caller_body_bytes 10`, `holdpoint_busiest_caller_mcp_ratio 0.5`, `holdpoint_busiest_caller_connections_ratio 0.75`, `holdpoint_busiest_caller_callbacks_ratio 1`, `holdpoint_database_counts_up 1`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	clock = clock.Add(countFor - 1)
	read(t, metrics)
	require.Equal(t, 1, asked.asked)

	clock = clock.Add(1)
	asked.err = runs.ErrUnavailable
	text = read(t, metrics)
	require.Equal(t, 2, asked.asked)
	require.Contains(t, text, "\nholdpoint_database_counts_up 0\n")
	require.Contains(t, text, "\nholdpoint_database_count_failures_total 1\n")
	require.NotContains(t, text, "\nholdpoint_waits", "nothing is shown of before")
	require.Contains(t, text, "\nholdpoint_streams 5\n", "what needs no database is shown")
}

func TestTheWayOfADecisionIsOneOfFew(t *testing.T) {
	t.Parallel()
	for resolution, want := range map[string]string{
		`{"via":"api"}`: "api", `{"via":"api:cli"}`: "api", `{"via":"rule:r-1"}`: "rule", `{"via":"clock"}`: "clock", `{"via":"relay"}`: "relay",
		`{"updated_input":{"via":"clock"},"answers":[{"via":"x"}],"via":"hermes","runtime_payload":{"via":"api"}}`: "hermes",
		`{"via":"of-a-caller"}`: otherLabel, `{"via":1}`: otherLabel, `{}`: otherLabel, `[]`: otherLabel, `{"via"`: otherLabel, ``: otherLabel, `{"a":`: otherLabel,
	} {
		require.Equal(t, want, newDoor([]string{"hermes", "codex", "timbal", "relay"}).viaLabel(&model.Request{Resolution: api.JSON(resolution)}), resolution)
	}
}
