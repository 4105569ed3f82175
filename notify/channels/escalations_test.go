package channels

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/escalation"
)

// A file may set up escalations for browsers, whose channel needs no entry. A file without any setting is a mistake.
func TestAFileWithoutChannels(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "channels.yaml")
	for text, want := range map[string]string{
		`escalations: {usual: {steps: [{notify: ["role:operator"]}]}}`:                 "",
		`calendars: {office: {zone: UTC, days: [mon], from: "09:00", to: "17:00"}}`:    "",
		`oncall: {payments: {url: "https://rota.example/now"}}`:                        "",
		"channels: {}\nescalations: {usual: {steps: [{notify: [\"role:operator\"]}]}}": "",
		``:                            "must have channels, escalations, calendars or oncall",
		`channels: {}`:                "must have channels, escalations, calendars or oncall",
		`escalations: {}`:             "must have channels, escalations, calendars or oncall",
		`default_escalation: usual`:   "must have channels, escalations, calendars or oncall",
		"channels:" + tooManyPagers(): "at most 32 entries",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		loaded, err := Load(path, nil)
		if want != "" {
			require.ErrorContains(t, err, want, text)
			continue
		}
		require.NoError(t, err, text)
		require.NotNil(t, loaded)
		require.Empty(t, loaded)
		_, _, err = Escalations(path, nil)
		require.NoError(t, err, text)
	}
}

// What follows a line --- would not be read.
func TestAFileHasOneDocument(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "channels.yaml")
	const rota, pager = `oncall: {rota: {url: "https://rota.example/now"}}`, `channels: {pager: {kind: http, url: "https://example.com"}}`
	for text, want := range map[string]string{
		"---\n" + rota + "\n...\n":             "",
		rota + "\n---":                         "",
		rota + "\n---\n# channels: {}\n---\n":  "",
		rota + "\n---\n" + pager:               "must be one YAML document",
		rota + "\n---\n# empty\n---\n" + pager: "must be one YAML document",
		"---\n---\n" + pager:                   "must be one YAML document",
		rota + "\n---\nchannels: {[}":          "yaml: ",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Load(path, nil)
		_, _, escalations := Escalations(path, nil)
		if want == "" {
			require.NoError(t, err, text)
			require.NoError(t, escalations, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, escalations, want, text)
	}
}

// tooManyPagers returns one channel more than a file may have.
func tooManyPagers() (text string) {
	for n := range maxChannels + 1 {
		text += fmt.Sprintf("\n  pager-%d: {kind: http, url: 'https://example.com'}", n)
	}
	return text
}

func TestNamedEscalations(t *testing.T) {
	t.Parallel()
	read := func(text string) (*escalation.Settings, error) {
		path := filepath.Join(t.TempDir(), "channels.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		settings, _, err := Escalations(path, nil)
		return settings, err
	}
	settings, err := read(`
calendars: {office: {zone: UTC, days: [mon], from: "09:00", to: "17:00"}}
oncall: {payments: {url: "https://rota.example/now"}}
default_escalation: usual
escalations:
  usual: {calendar: office, at_deadline: deny, steps: [{notify: ["role:operator"]}, {after_ms: 60000, notify: ["oncall:payments"], also_from: ["oncall:payments", "user:ada"], every_ms: 300000, times: 2, urgent: true}]}
  kept: {at_deadline: keep, steps: [{notify: ["user:ada"], also_from: []}]}
`)
	require.NoError(t, err)
	usual := &api.Escalation{Name: "usual", Calendar: "office", Steps: []api.EscalationStep{
		{Notify: []string{"role:operator"}}, {AfterMs: 60_000, Notify: []string{"oncall:payments"}, AlsoFrom: []string{"oncall:payments", "user:ada"}, EveryMs: 300_000, Times: 2, Urgent: true},
	}}
	require.Equal(t, usual, settings.Of(nil).Escalation)
	require.Equal(t, usual, settings.Of(&api.Escalation{Name: "usual"}).Escalation)
	require.Equal(t, api.DeadlineKeep, settings.Of(&api.Escalation{Name: "kept"}).Escalation.AtDeadline)
	require.Nil(t, settings.Of(&api.Escalation{Name: "other"}))
	require.Nil(t, settings.Of(&api.Escalation{AtDeadline: api.DeadlineKeep}), "the request has its own")
	for text, want := range map[string]string{
		`escalations: {Usual: {steps: [{notify: ["role:admin"]}]}}`:                     "a name has 1 to 32 characters",
		`escalations: {usual: {}}`:                                                      "at least one entry",
		`escalations: {usual: {steps: [{notify: [ada]}]}}`:                              "must be user:NAME",
		`escalations: {usual: {steps: [{notify: ["oncall:x"]}]}}`:                       `no on-call source "x"`,
		`escalations: {usual: {steps: [{notify: ["user:a"], also_from: [ada]}]}}`:       "/escalation/steps/0/also_from/0",
		`escalations: {u: {steps: [{notify: ["user:a"], also_from: ["oncall:x"]}]}}`:    `no on-call source "x"`,
		`escalations: {usual: {calendar: x, steps: [{notify: ["role:admin"]}]}}`:        `no calendar "x"`,
		`escalations: {usual: {at_deadline: allow, steps: [{notify: ["role:admin"]}]}}`: "no deadline allows",
		`escalations: {usual: {default_answer: x, steps: [{notify: ["role:admin"]}]}}`:  "default_answer",
		`default_escalation: usual`:                                                     `there is no escalation "usual"`,
		`oncall: {Rota: {url: "https://rota.example"}}`:                                 "a name has 1 to 32 characters",
		`oncall: {rota: {url: "ftp://rota.example"}}`:                                   "http or https",
		`oncall: {rota: {url: "https://rota.example", headers: {A: "{{.Secret.x}}"}}}`:  "oncall rota",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, want, text)
	}
}
