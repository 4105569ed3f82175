package escalation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/escalation"
)

const (
	minute = int64(60_000)
	hour   = 60 * minute
	day    = 24 * hour
)

var workdays = [7]bool{time.Monday: true, time.Tuesday: true, time.Wednesday: true, time.Thursday: true, time.Friday: true}

func zone(t rapid.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	require.NoError(t, err)
	return location
}

func moment(t rapid.TB, in *time.Location, text string) int64 {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04", text, in)
	require.NoError(t, err)
	return at.UnixMilli()
}

// Working time passes only while the calendar is open.
func TestWorkingTime(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	office := &escalation.Calendar{Zone: berlin, Days: workdays, From: 9 * 60, To: 17*60 + 30, Closed: map[string]bool{"2026-12-25": true}}
	allDay := &escalation.Calendar{Zone: berlin, Days: [7]bool{true, true, true, true, true, true, true}, To: 24 * 60}
	night := &escalation.Calendar{Zone: berlin, Days: allDay.Days, From: 60, To: 4 * 60}
	for name, c := range map[string]struct {
		calendar *escalation.Calendar
		from     string
		after    int64
		want     string
	}{
		"at once":                         {office, "2026-11-25 10:00", 0, "2026-11-25 10:00"},
		"before opening":                  {office, "2026-11-25 07:00", 0, "2026-11-25 09:00"},
		"at closing":                      {office, "2026-11-25 17:30", 0, "2026-11-26 09:00"},
		"within the day":                  {office, "2026-11-25 10:00", 2 * hour, "2026-11-25 12:00"},
		"until closing":                   {office, "2026-11-25 16:30", hour, "2026-11-25 17:30"},
		"over night":                      {office, "2026-11-25 17:00", hour, "2026-11-26 09:30"},
		"over the weekend":                {office, "2026-11-27 17:00", hour, "2026-11-30 09:30"},
		"on Saturday":                     {office, "2026-11-28 12:00", 0, "2026-11-30 09:00"},
		"a closed day and a weekend":      {office, "2026-12-24 17:00", hour, "2026-12-28 09:30"},
		"several days":                    {office, "2026-11-23 09:00", 4*17*hour/2 + hour, "2026-11-27 10:00"},
		"the clock goes forward at night": {office, "2026-03-27 17:00", hour, "2026-03-30 09:30"},
		"the clock goes back at night":    {office, "2026-10-23 17:00", hour, "2026-10-26 09:30"},
		"a day of 23 hours":               {allDay, "2026-03-29 00:00", 23 * hour, "2026-03-30 00:00"},
		"a day of 25 hours":               {allDay, "2026-10-25 00:00", 25 * hour, "2026-10-26 00:00"},
		"a night of two hours":            {night, "2026-03-29 00:00", 2 * hour, "2026-03-29 04:00"},
		"and the next one":                {night, "2026-03-29 00:00", 3 * hour, "2026-03-30 02:00"},
		"a night of four hours":           {night, "2026-10-25 00:00", 4 * hour, "2026-10-25 04:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, ever := c.calendar.Add(moment(t, berlin, c.from), c.after)
			require.True(t, ever)
			require.Equal(t, c.want, time.UnixMilli(at).In(berlin).Format("2006-01-02 15:04"))
		})
	}
	// The zone of the calendar counts, not the service's.
	auckland := &escalation.Calendar{Zone: zone(t, "Pacific/Auckland"), Days: workdays, From: 9 * 60, To: 17 * 60}
	at, ever := auckland.Add(moment(t, berlin, "2026-11-29 21:00"), 0)
	require.True(t, ever)
	require.Equal(t, "2026-11-29 21:00", time.UnixMilli(at).In(berlin).Format("2006-01-02 15:04"), "Monday morning over there")
	// An opening that the clock skips: the day begins an hour later.
	skipped := &escalation.Calendar{Zone: berlin, Days: allDay.Days, From: 2*60 + 30, To: 5 * 60}
	at, ever = skipped.Add(moment(t, berlin, "2026-03-29 00:00"), 0)
	require.True(t, ever)
	require.Equal(t, "2026-03-29 03:30", time.UnixMilli(at).In(berlin).Format("2006-01-02 15:04"))

	_, ever = (&escalation.Calendar{Zone: berlin, To: 60}).Add(0, 0)
	require.False(t, ever, "a calendar that never opens")
	_, ever = office.Add(0, 1<<62)
	require.False(t, ever)
}

// Working time is additive, never goes back, and ends within the open hours.
func TestWorkingTimeAddsUp(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "UTC"}
	rapid.Check(t, func(t *rapid.T) {
		in := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		from := rapid.IntRange(0, 22*60).Draw(t, "from")
		c := &escalation.Calendar{Zone: in, Days: workdays, From: from, To: rapid.IntRange(from+60, 24*60).Draw(t, "to")}
		start := rapid.Int64Range(0, 2_000_000_000_000).Draw(t, "start")
		a, b := rapid.Int64Range(0, 3*day).Draw(t, "a"), rapid.Int64Range(1, 3*day).Draw(t, "b")
		first, ever := c.Add(start, a)
		require.True(t, ever)
		require.GreaterOrEqual(t, first, start+a)
		second, ever := c.Add(first, b)
		require.True(t, ever)
		both, ever := c.Add(start, a+b)
		require.True(t, ever)
		require.Equal(t, both, second)
		require.True(t, workdays[time.UnixMilli(both-1).In(in).Weekday()])
	})
}

// The steps become due in order of their times, and repeat.
func TestSteps(t *testing.T) {
	t.Parallel()
	plan := &escalation.Plan{CreatedAtMs: 1_000, Steps: []api.EscalationStep{
		{AfterMs: 0}, {AfterMs: 30 * minute, EveryMs: 4 * hour, Times: 3}, {AfterMs: 6 * hour},
	}}
	var done []int64
	for _, want := range []struct {
		step int
		at   int64
	}{{0, 0}, {1, 30 * minute}, {1, 4*hour + 30*minute}, {2, 6 * hour}, {1, 8*hour + 30*minute}} {
		step, at := plan.Next(done)
		require.Equal(t, want.step, step)
		require.Equal(t, 1_000+want.at, at)
		require.Equal(t, done, zero(plan.Due(done, at-1), done), "not before")
		done = plan.Due(done, at)
	}
	step, _ := plan.Next(done)
	require.Equal(t, -1, step)
	require.Equal(t, []int64{1, 3, 1}, plan.Due(nil, 1_000+day), "all at once, after a break")
	require.Equal(t, []int64{0, 0, 0}, plan.Due(nil, 0), "a clock that went back")

	repeats := &escalation.Plan{Steps: []api.EscalationStep{{EveryMs: 5 * minute}}}
	require.Equal(t, []int64{api.MaxEscalationMessages}, repeats.Due(nil, 1<<60))
	never := &escalation.Plan{Steps: []api.EscalationStep{{}}, Calendar: &escalation.Calendar{Zone: time.UTC}}
	step, _ = never.Next(nil)
	require.Equal(t, -1, step)
	require.Equal(t, []int64{0}, never.Due(nil, 1<<60))
}

// zero returns nil in place of a list of zeros, if the other is nil.
func zero(list, other []int64) []int64 {
	for _, n := range list {
		if n != 0 || other != nil {
			return list
		}
	}
	return nil
}

// A step that is urgent ignores the calendar; the others count working time.
func TestUrgentSteps(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	friday := moment(t, berlin, "2026-11-27 17:00")
	plan := &escalation.Plan{
		CreatedAtMs: friday, Calendar: &escalation.Calendar{Zone: berlin, Days: workdays, From: 9 * 60, To: 17 * 60},
		Steps: []api.EscalationStep{{AfterMs: 0}, {AfterMs: 2 * hour, Urgent: true}},
	}
	step, at := plan.Next(nil)
	require.Equal(t, 1, step)
	require.Equal(t, friday+2*hour, at)
	step, at = plan.Next([]int64{0, 1})
	require.Equal(t, 0, step)
	require.Equal(t, moment(t, berlin, "2026-11-30 09:00"), at)
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	for name, c := range map[string]struct {
		from, to int
		at, want string
	}{
		"in the evening":                 {22 * 60, 7 * 60, "2026-11-25 22:00", "2026-11-26 07:00"},
		"before":                         {22 * 60, 7 * 60, "2026-11-25 21:59", ""},
		"in the morning":                 {22 * 60, 7 * 60, "2026-11-26 06:59", "2026-11-26 07:00"},
		"after":                          {22 * 60, 7 * 60, "2026-11-26 07:00", ""},
		"during the day":                 {12 * 60, 13 * 60, "2026-11-26 12:30", "2026-11-26 13:00"},
		"the whole day":                  {0, 24 * 60, "2026-11-26 12:30", "2026-11-27 00:00"},
		"the same time":                  {8 * 60, 8 * 60, "2026-11-26 07:00", "2026-11-26 08:00"},
		"the night of the longer clock":  {22 * 60, 7 * 60, "2026-10-25 01:00", "2026-10-25 07:00"},
		"the night of the shorter clock": {22 * 60, 7 * 60, "2026-03-28 23:00", "2026-03-29 07:00"},
		"over the end of a year":         {22 * 60, 7 * 60, "2026-12-31 23:00", "2027-01-01 07:00"},
		"an end that the clock skips":    {22 * 60, 2*60 + 30, "2026-03-29 01:59", "2026-03-29 03:00"},
		"after it":                       {22 * 60, 2*60 + 30, "2026-03-29 03:10", ""},
		"a beginning that it skips":      {2*60 + 30, 7 * 60, "2026-03-29 03:10", "2026-03-29 07:00"},
		"before it":                      {2*60 + 30, 7 * 60, "2026-03-29 01:59", ""},
		"between skipped times":          {2*60 + 15, 2*60 + 45, "2026-03-29 03:20", ""},
	} {
		got := ""
		if until := escalation.QuietUntil(berlin, c.from, c.to, moment(t, berlin, c.at)); until != 0 {
			got = time.UnixMilli(until).In(berlin).Format("2006-01-02 15:04")
		}
		require.Equal(t, c.want, got, name)
	}
	// From 2:00 to 3:00 the clock shows each time twice.
	twice := moment(t, berlin, "2026-10-25 01:00") + hour
	require.Equal(t, moment(t, berlin, "2026-10-25 07:00"), escalation.QuietUntil(berlin, 2*60+30, 7*60, twice+hour/2), "the first beginning")
	require.Zero(t, escalation.QuietUntil(berlin, 2*60+30, 7*60, twice+hour/2-1))
	require.Equal(t, twice+3*hour/2, escalation.QuietUntil(berlin, 22*60, 2*60+30, twice+3*hour/2-1), "the last end")
	require.Zero(t, escalation.QuietUntil(berlin, 22*60, 2*60+30, twice+3*hour/2))
	// Midnight is skipped.
	cairo := zone(t, "Africa/Cairo")
	require.Equal(t, moment(t, cairo, "2026-04-24 01:00"), escalation.QuietUntil(cairo, 20*60, 24*60, moment(t, cairo, "2026-04-23 23:00")))
	require.Zero(t, escalation.QuietUntil(cairo, 20*60, 24*60, moment(t, cairo, "2026-04-24 01:00")))
}

// A client shows the text of a rule before it is written, without the service's settings.
func TestSettingsForATextHaveAllNames(t *testing.T) {
	t.Parallel()
	settings := escalation.Having(&api.Escalation{Calendar: "office", Steps: []api.EscalationStep{
		{Notify: []string{"oncall:first"}, AlsoFrom: []string{"oncall:second"}},
	}})
	require.NotNil(t, settings.Calendar("office"))
	require.True(t, settings.HasOnCall("first"))
	require.True(t, settings.HasOnCall("second"))
	require.Nil(t, escalation.Having(nil))
}
