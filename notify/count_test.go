package notify_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// Five messages about single requests are the most in any ten minutes, not only in those that begin with the first one.
func TestTheTenMinutesOfAFloodSlide(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		stored := storeAs[notify.Store](t, inprocess.Start(t, database, inprocess.Options{}).Store)
		counted := func(atMs int64, messages ...string) (numbers []int64) {
			for _, message := range messages {
				number, _, err := stored.CountNotice(t.Context(), "user:ada", &notify.NoticeToCount{ID: message}, atMs)
				require.NoError(t, err)
				numbers = append(numbers, number)
			}
			return numbers
		}
		const startMs, lateMs, overMs = 1_750_000_000_000, 1_750_000_000_000 + 590_000, 1_750_000_000_000 + 601_000
		require.Equal(t, []int64{1}, counted(startMs, "m1"))
		require.Equal(t, []int64{2, 3, 4, 5}, counted(lateMs, "m2", "m3", "m4", "m5"))
		require.Equal(t, []int64{5, 6, 0, 0, 0, 5, 6}, counted(overMs, "m6", "m7", "m8", "m9", "m10", "m6", "m7"))
		require.Equal(t, []int64{0}, counted(lateMs+api.FloodMs-1, "m11"))
		require.Equal(t, []int64{2, 3, 4, 5, 0}, counted(lateMs+api.FloodMs, "m12", "m13", "m14", "m15", "m16"), "m6 and m7 still count")
	})
}

// Of many messages that are counted at once, five are about single requests and one counts all.
func TestMessagesAreCountedOneAfterTheOther(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		stored := storeAs[notify.Store](t, inprocess.Start(t, database, inprocess.Options{}).Store)
		const many, nowMs = 40, 1_750_000_000_000
		numbers, failures, rows := make([]int64, many), make([]error, many), make([]notify.SentMessage, many)
		var calls sync.WaitGroup
		for i := range many {
			calls.Go(func() {
				rows[i] = notify.SentMessage{RequestHandle: fmt.Sprint("flood:m", i), Channel: "flood", Principal: "user:ada", MessageID: fmt.Sprint("m", i), BegunAtMs: nowMs}
				numbers[i], _, failures[i] = stored.CountNotice(t.Context(), "user:ada", &notify.NoticeToCount{ID: rows[i].MessageID, Flood: &rows[i]}, nowMs)
			})
		}
		calls.Wait()
		for _, err := range failures {
			require.NoError(t, err)
		}
		for i := range rows {
			found, err := stored.SentMessages(t.Context(), rows[i].RequestHandle, "flood")
			require.NoError(t, err)
			require.Equal(t, numbers[i] > api.FloodMessages, len(found) == 1)
		}
		slices.Sort(numbers)
		require.Equal(t, []int64{1, 2, 3, 4, 5, 6}, numbers[many-6:])
		require.Zero(t, numbers[many-7])
	})
}

// The message that counts all has its row with its count, and no other message has one.
func TestTheRowOfAFloodIsWrittenWithItsCount(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		stored := storeAs[notify.Store](t, inprocess.Start(t, database, inprocess.Options{}).Store)
		const nowMs = 1_750_000_000_000
		for n := range int64(api.FloodMessages + 2) {
			id := fmt.Sprint("m", n)
			row := notify.SentMessage{RequestHandle: "flood:" + id, Channel: "flood", Principal: "user:ada", MessageID: id, BegunAtMs: nowMs}
			for range 2 {
				_, _, err := stored.CountNotice(t.Context(), "user:ada", &notify.NoticeToCount{ID: id, Flood: &row}, nowMs)
				require.NoError(t, err)
			}
			rows, err := stored.SentMessages(t.Context(), row.RequestHandle, row.Channel)
			require.NoError(t, err)
			if n != api.FloodMessages {
				require.Empty(t, rows)
				continue
			}
			require.Equal(t, []notify.SentMessage{row}, rows)
		}
	})
}

// The messages of a row that an earlier version wrote were all counted when the row began.
func TestARowOfAnEarlierVersionCounts(t *testing.T) {
	t.Parallel()
	const startMs = 1_750_000_000_000
	row := &notify.NoticeCount{SinceMs: startMs, Sent: 4, MessageIDs: "h1:0 h2:0 h3:1 h4:0"}
	after, number, _ := row.Count(&notify.NoticeToCount{ID: "h2:0"}, startMs+1_000)
	require.Nil(t, after)
	require.EqualValues(t, 2, number, "it keeps its number")
	after, number, _ = row.Count(&notify.NoticeToCount{ID: "h5:0"}, startMs+1_000)
	require.EqualValues(t, 5, number)
	require.Equal(t, &notify.NoticeCount{
		SinceMs: startMs, Sent: 5,
		MessageIDs: "h1:0=1750000000000 h2:0=1750000000000 h3:1=1750000000000 h4:0=1750000000000 h5:0=1750000001000",
	}, after)
	after, number, _ = row.Count(&notify.NoticeToCount{ID: "h5:0"}, startMs+api.FloodMs)
	require.EqualValues(t, 1, number)
	require.Equal(t, "h5:0=1750000600000", after.MessageIDs)

	flooded := &notify.NoticeCount{SinceMs: startMs, Sent: 6, MessageIDs: "h1:0 h2:0 h3:1 h4:0 h5:0 h6:0"}
	_, number, _ = flooded.Count(&notify.NoticeToCount{ID: "h6:0"}, startMs+1_000)
	require.EqualValues(t, api.FloodMessages+1, number)
	after, number, holdMs := flooded.Count(&notify.NoticeToCount{ID: "h7:0", RaisedAtMs: startMs}, startMs+1_000)
	require.Nil(t, after)
	require.Zero(t, number)
	require.Zero(t, holdMs, "the sixth message told of it")
	_, number, holdMs = flooded.Count(&notify.NoticeToCount{ID: "h7:0", RaisedAtMs: startMs + 1}, startMs+1_000)
	require.Zero(t, number)
	require.EqualValues(t, api.FloodMs-1_000, holdMs)
}

// A count that may wait for the person's quiet hours does not stand for an urgent message. One that is urgent stands for all.
func TestOnlyAnUrgentCountStandsForAnUrgentMessage(t *testing.T) {
	t.Parallel()
	const raisedMs, startMs = 1_749_999_940_000, 1_750_000_000_000
	row := &notify.NoticeCount{}
	count := func(atMs int64, n *notify.NoticeToCount) (number, holdMs int64) {
		after, number, holdMs := row.Count(n, atMs)
		if after != nil {
			row = after
		}
		return number, holdMs
	}
	for n := range int64(api.FloodMessages + 1) {
		number, _ := count(startMs, &notify.NoticeToCount{ID: fmt.Sprintf("h%d:0", n), RaisedAtMs: raisedMs})
		require.Equal(t, n+1, number)
	}
	for range 2 {
		number, holdMs := count(startMs+1_000, &notify.NoticeToCount{ID: "h6:1", RaisedAtMs: raisedMs, Urgent: true})
		require.EqualValues(t, api.FloodMessages+1, number)
		require.Zero(t, holdMs)
		require.Regexp(t, `^h0:0=1750000000000 .* h5:0=1750000000000\+ h6:1!=1750000001000\+$`, row.MessageIDs)
	}
	for name, test := range map[string]struct {
		notice notify.NoticeToCount
		holdMs int64
	}{
		"urgent, raised before the urgent count": {notify.NoticeToCount{ID: "h7:1", RaisedAtMs: raisedMs, Urgent: true}, 0},
		"raised before the urgent count":         {notify.NoticeToCount{ID: "h7:0", RaisedAtMs: startMs + 500}, 0},
		"urgent, raised after the urgent count":  {notify.NoticeToCount{ID: "h7:1", RaisedAtMs: startMs + 1_500, Urgent: true}, api.FloodMs - 1_000},
	} {
		number, holdMs := count(startMs+2_000, &test.notice)
		require.Zero(t, number, name)
		require.Equal(t, test.holdMs, holdMs, name)
	}
}
