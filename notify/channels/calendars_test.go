package channels

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCalendars(t *testing.T) {
	t.Parallel()
	read := func(text string) error {
		path := filepath.Join(t.TempDir(), "channels.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		made, _, err := Escalations(path, nil)
		if err == nil && len(made.Calendars) > 0 {
			office := made.Calendar("office")
			require.Equal(t, "Europe/Berlin", office.Zone.String())
			require.True(t, office.Days[time.Monday] && office.Days[time.Friday] && !office.Days[time.Sunday])
			require.Equal(t, [2]int{9 * 60, 17*60 + 30}, [2]int{office.From, office.To})
			require.True(t, office.Closed["2026-12-25"])
		}
		return err
	}
	require.NoError(t, read(``))
	require.NoError(t, read(`calendars: {office: {zone: Europe/Berlin, days: [mon, Fri], from: "09:00", to: "17:30", closed: [2026-12-25]}}`))
	for text, want := range map[string]string{
		`calendars: {Office: {zone: UTC, days: [mon], from: "09:00", to: "17:00"}}`:                   "a name has 1 to 32 characters",
		`calendars: {office: {days: [mon], from: "09:00", to: "17:00"}}`:                              "zone must be",
		`calendars: {office: {zone: Local, days: [mon], from: "09:00", to: "17:00"}}`:                 "zone must be",
		`calendars: {office: {zone: localtime, days: [mon], from: "09:00", to: "17:00"}}`:             "zone must be",
		`calendars: {office: {zone: ./localtime, days: [mon], from: "09:00", to: "17:00"}}`:           "zone must be",
		`calendars: {office: {zone: ../etc/passwd, days: [mon], from: "09:00", to: "17:00"}}`:         "zone must be",
		`calendars: {office: {zone: UTC, from: "09:00", to: "17:00"}}`:                                "at least one day",
		`calendars: {office: {zone: UTC, days: [someday], from: "09:00", to: "17:00"}}`:               `"someday" must be one of`,
		`calendars: {office: {zone: UTC, days: [mon], from: "9", to: "17:00"}}`:                       "from and to",
		`calendars: {office: {zone: UTC, days: [mon], from: "09:00", to: "24:01"}}`:                   "from and to",
		`calendars: {office: {zone: UTC, days: [mon], from: "17:00", to: "09:00"}}`:                   "from and to",
		`calendars: {office: {zone: UTC, days: [mon], from: "09:00", to: "17:00", closed: [Easter]}}`: "must be a date",
	} {
		require.ErrorContains(t, read(text), want, text)
	}
}
