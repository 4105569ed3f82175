package audit_test

import (
	"encoding/base64"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/audit"
)

// After the clock was set back, the times of changes recur: no session is left out.
func TestCheckpointsAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	const noonMs, minuteMs = 100 * 3_600_000, 60_000
	d, c, keys, _ := newDesk(t)
	d.nowMs = noonMs
	look := func(c *audit.Checkpointer, nowMs int64) (signed []string) {
		t.Helper()
		before := d.count()
		d.nowMs = nowMs
		require.NoError(t, c.Look(t.Context()))
		for _, checkpoint := range d.kept[before:] {
			signed = append(signed, chainsOf(t, checkpoint.Signed)...)
		}
		return signed
	}
	changed := func(id string, nowMs int64) {
		d.add(t, id, `{"type":"progress"}`)
		d.ledger[id][len(d.ledger[id])-1].TimestampMs = nowMs
	}
	look(c, noonMs)

	// Half an hour back. Nothing has changed at first.
	require.Empty(t, look(c, noonMs-30*minuteMs))
	changed("first", noonMs-28*minuteMs)
	require.Empty(t, look(c, noonMs-25*minuteMs), "no round is due")
	require.Equal(t, []string{"session/first"}, look(c, noonMs-20*minuteMs))
	changed("second", noonMs-18*minuteMs)
	require.Equal(t, []string{"session/second"}, look(c, noonMs-10*minuteMs))

	// A process that starts then knows which round was the last one.
	changed("third", noonMs-5*minuteMs)
	require.Equal(t, []string{"session/third"}, look(audit.NewCheckpointer(d, keys, slog.New(slog.DiscardHandler)), noonMs+minuteMs))

	// One that starts after the clock was set back, and before a round, signs everything.
	changed("fourth", noonMs-28*minuteMs)
	require.Contains(t, look(audit.NewCheckpointer(d, keys, slog.New(slog.DiscardHandler)), noonMs-20*minuteMs), "session/fourth")
}

// chainsOf returns the chains that a checkpoint names, sorted.
func chainsOf(t *testing.T, signed string) []string {
	t.Helper()
	parts := strings.Split(signed, ".")
	require.Len(t, parts, 3)
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var payload struct {
		Heads map[string]any `json:"heads"`
	}
	require.NoError(t, json.Unmarshal(text, &payload))
	return slices.Sorted(maps.Keys(payload.Heads))
}
