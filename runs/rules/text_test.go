package rules_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/runs/rules"
)

// The domain cannot use the standard library's calendar; this test compares with it. december is
// a time that texts can show.
var december = time.Date(2026, time.December, 21, 10, 0, 0, 0, time.UTC).UnixMilli()

func TestUTCTime(t *testing.T) {
	t.Parallel()
	for _, moment := range []int64{
		0, 1, 999, 1_000, -1, -1_000, december, december + 1, 951_782_400_000, 951_868_799_000, 4_107_542_400_000,
		-62_135_596_800_000, 253_402_300_799_000,
	} {
		checkTime(t, moment)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkTime(t, rapid.Int64Range(-62_135_596_800_000, 253_402_300_799_000).Draw(t, "ms"))
	})
	require.NotPanics(t, func() { rules.UTCTime(math.MaxInt64); rules.UTCTime(math.MinInt64) })
}

func checkTime(t rapid.TB, moment int64) {
	t.Helper()
	whole := time.UnixMilli(moment).UTC()
	if rounded := whole.Truncate(time.Second); rounded.Before(whole) {
		whole = rounded.Add(time.Second)
	}
	require.Equal(t, whole.Format(time.RFC3339), rules.UTCTime(moment))
}
