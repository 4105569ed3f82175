package notify

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestWhetherACodeMayBeSent(t *testing.T) {
	t.Parallel()
	const now, minute, day = int64(1_000_000_000), int64(60_000), int64(86_400_000)
	count := func(sent, sinceMs, lastMs int64) CodeCount {
		return CodeCount{Sent: sent, SinceMs: sinceMs, LastMs: lastMs, Mark: "old"}
	}
	for name, c := range map[string]struct {
		facts   codeFacts
		code    api.Code
		afterMs int64
	}{
		"first":             {facts: codeFacts{}},
		"16 addresses":      {facts: codeFacts{others: api.MaxAddresses}, code: api.CodeTooManyAddresses},
		"half a minute ago": {facts: codeFacts{counts: CodeCounts{Destination: count(1, now-30_000, now-30_000)}}, code: api.CodeTooManyCodes, afterMs: 30_000},
		"a minute ago":      {facts: codeFacts{counts: CodeCounts{Destination: count(1, now-minute, now-minute)}}},
		"a person's pause":  {facts: codeFacts{counts: CodeCounts{Person: count(1, now, now)}}},
		"five to this address": {
			facts: codeFacts{counts: CodeCounts{Destination: count(5, now-day+1, now-minute), Pair: count(1, now-minute, now-minute)}}, code: api.CodeTooManyCodes, afterMs: 1,
		},
		"five, all by others": {facts: codeFacts{counts: CodeCounts{Destination: count(5, now-day+1, now-minute)}}},
		"five, the own one a day ago": {
			facts: codeFacts{counts: CodeCounts{Destination: count(5, now-day+1, now-minute), Pair: count(1, now-day, now-day)}},
		},
		"8 addresses, for another person": {facts: codeFacts{others: api.MaxAddedAddresses, most: api.MaxAddedAddresses}, code: api.CodeTooManyAddresses},
		"8 addresses":                     {facts: codeFacts{others: api.MaxAddedAddresses}},
		"five a day ago":                  {facts: codeFacts{counts: CodeCounts{Destination: count(5, now-day, now-minute)}}},
		"32 of this person":               {facts: codeFacts{counts: CodeCounts{Person: count(32, now-minute, now)}}, code: api.CodeTooManyCodes, afterMs: day - minute},
		"32 of this person, a day":        {facts: codeFacts{counts: CodeCounts{Person: count(32, now-day, now)}}},
		// The clock was set back.
		"half a minute ahead":  {facts: codeFacts{counts: CodeCounts{Destination: count(1, now+30_000, now+30_000)}}, code: api.CodeTooManyCodes, afterMs: 90_000},
		"two minutes ahead":    {facts: codeFacts{counts: CodeCounts{Destination: count(1, now+2*minute, now+2*minute)}}},
		"32 two minutes ahead": {facts: codeFacts{counts: CodeCounts{Person: count(32, now, now+2*minute)}}, code: api.CodeTooManyCodes, afterMs: day},
		"five, an hour ahead":  {facts: codeFacts{counts: CodeCounts{Destination: count(5, now, now+60*minute), Pair: count(1, now, now)}}, code: api.CodeTooManyCodes, afterMs: day},
		"five, two days ahead": {facts: codeFacts{counts: CodeCounts{Destination: count(5, now+2*day, now+2*day), Pair: count(1, now+2*day, now+2*day)}}},
		"32, two days ahead":   {facts: codeFacts{counts: CodeCounts{Person: count(32, now+2*day, now+2*day)}}},
	} {
		c.facts.nowMs, c.facts.most = now, cmp.Or(c.facts.most, api.MaxAddresses)
		after, err := decideCode(&c.facts, "new")
		require.Equal(t, c.code, refusal.CodeOf(err), name)
		if c.code != "" {
			var refused *refusal.Error
			require.ErrorAs(t, err, &refused, name)
			require.Equal(t, c.afterMs, refused.AfterMs, name)
			continue
		}
		for _, count := range []CodeCount{after.Destination, after.Person, after.Pair} {
			require.Equal(t, "new", count.Mark, name)
			require.Equal(t, now, count.LastMs, name)
			require.Positive(t, count.Sent, name)
			require.Greater(t, count.SinceMs, now-day, name)
		}
	}
}

func TestDestinations(t *testing.T) {
	t.Parallel()
	ada := subjectOfDestination(api.ChannelEmail, "mail", "ada@example.com")
	require.Equal(t, ada, subjectOfDestination(api.ChannelEmail, "other", "Ada+x+y@Example.COM"), "two channels, one mailbox")
	require.NotEqual(t, ada, subjectOfDestination(api.ChannelEmail, "mail", "adam@example.com"))
	require.NotEqual(t, subjectOfDestination(api.ChannelHTTP, "ops", "a"), subjectOfDestination(api.ChannelHTTP, "ops", "A"), "topics have cases")
	require.NotContains(t, ada, "ada@")
}
