package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// rows is an intake in memory. Its methods say what became of each row.
type rows struct {
	upkeep.Intake
	mu     sync.Mutex
	due    []upkeep.IntakeRow
	became map[string]string
	finish error
}

func (r *rows) record(id, what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.became[id] = what
	return nil
}

func (r *rows) Take(_ context.Context, limit int, leaseMs int64) ([]upkeep.IntakeRow, error) {
	taken := r.due[:min(limit, len(r.due))]
	r.due = r.due[len(taken):]
	return taken, nil
}

func (r *rows) Body(_ context.Context, id string) (api.JSON, error) {
	if id == "deleted" {
		return nil, nil
	}
	return api.JSON(`{}`), nil
}

func (r *rows) Finish(_ context.Context, ids []string) error {
	for _, id := range ids {
		_ = r.record(id, "done")
	}
	return r.finish
}

func (r *rows) Postpone(_ context.Context, id, reason string, delayMs int64) error {
	return r.record(id, fmt.Sprintf("again in %d: %s", delayMs, reason))
}

func (r *rows) Refuse(_ context.Context, id, reason string) error {
	return r.record(id, "refused: "+reason)
}

// passOver makes one pass over rows with the given ids and attempts.
func passOver(t *testing.T, r *rows, create func(id string) error) (IntakeResult, error) {
	t.Helper()
	r.became = map[string]string{}
	intake := NewIntake(r, IntakeOptions{
		Logger: slog.New(slog.DiscardHandler), batch: 10,
		Create: func(_ context.Context, key string, _ api.JSON) error { return create(key) },
	})
	return intake.RunOnce(t.Context())
}

func TestWhatBecomesOfAnIntakeRow(t *testing.T) {
	t.Parallel()
	later := fmt.Errorf("%w: %w", upkeep.ErrNotNow, refusal.New(api.CodeQueueFull, "it is full"))
	r := &rows{due: []upkeep.IntakeRow{
		{IntakeID: "good"},
		{IntakeID: "deleted"},
		{IntakeID: "ended"},
		{IntakeID: "full"},
		{IntakeID: "full for long", Attempts: 4},
		{IntakeID: "full for very long", Attempts: 18},
		{IntakeID: "full at last", Attempts: 19},
		{IntakeID: "broken"},
		{IntakeID: "poison", Attempts: 19},
	}}
	result, err := passOver(t, r, func(id string) error {
		switch id {
		case "ended":
			return refusal.New(api.CodeSessionEnded, "it is over")
		case "broken":
			return errors.New("broken")
		case "poison":
			panic("ouch\x00\xff")
		case "good":
			return nil
		}
		return later
	})
	require.NoError(t, err)
	require.Equal(t, IntakeResult{Created: 2, Refused: 3, Failed: 4}, result)
	full := "not now: queue_full: it is full"
	require.Equal(t, map[string]string{
		"good": "done", "deleted": "done", "ended": "refused: session_ended: it is over",
		"full": "again in 1000: " + full, "full for long": "again in 16000: " + full, "full for very long": "again in 300000: " + full,
		"full at last": "refused: " + full, "broken": "again in 1000: broken", "poison": "refused: intake row poison panicked: ouch",
	}, r.became)
}

// TestAnOutageRefusesNoRow leaves the rows to the end of their lease, also the later ones of the
// session.
func TestAnOutageRefusesNoRow(t *testing.T) {
	t.Parallel()
	pass := func(failure error) (*rows, IntakeResult, error) {
		r := &rows{due: []upkeep.IntakeRow{
			{IntakeID: "a", SessionID: "s", Attempts: 19}, {IntakeID: "b", SessionID: "s"}, {IntakeID: "c", SessionID: "other"},
		}}
		result, err := passOver(t, r, func(id string) error {
			require.NotEqual(t, "b", id)
			if id == "a" {
				return failure
			}
			return nil
		})
		require.NotContains(t, r.became, "a")
		require.NotContains(t, r.became, "b")
		return r, result, err
	}
	for _, failure := range []error{fmt.Errorf("%w: away", runs.ErrUnavailable), runs.ErrClosed} {
		_, _, err := pass(failure)
		require.ErrorIs(t, err, failure)
	}
	// A session that is locked for long holds up no other: the pass has not failed, so no pause follows it.
	r, result, err := pass(context.DeadlineExceeded)
	require.NoError(t, err)
	require.Equal(t, IntakeResult{Created: 1, Failed: 1}, result)
	require.Equal(t, map[string]string{"c": "done"}, r.became)
}

func TestRunsOfASessionAreCreatedInOrder(t *testing.T) {
	t.Parallel()
	r := &rows{}
	for n := range 10 {
		r.due = append(r.due, upkeep.IntakeRow{IntakeID: fmt.Sprint(n), SessionID: "s"})
	}
	var mu sync.Mutex
	var created []string
	result, err := passOver(t, r, func(id string) error {
		mu.Lock()
		defer mu.Unlock()
		created = append(created, id)
		return nil
	})
	require.NoError(t, err)
	require.True(t, result.more, "the batch was full")
	require.Len(t, created, 10)
	require.True(t, slices.IsSorted(created))
}
