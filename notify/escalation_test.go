package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
)

// raiseEscalating raises an approval with an escalation, and returns its run.
func raiseEscalating(t *testing.T, c *client.Client, session string, e *api.Escalation) string {
	t.Helper()
	run, err := c.CreateRun(t.Context(), client.CreateRunParams{
		SessionID: session, AgentID: "coder", Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{
			ID: "a", ToolCallID: "a", ToolName: "deploy", Input: api.JSON(`1`), Escalation: e,
		}}},
	})
	require.NoError(t, err)
	return run.RunID
}

// Steps reach the people whom they select, as far as these may decide and have an address.
func TestAnEscalationReachesPeople(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		as := func(name string, role api.Role, groups ...string) *client.Client {
			made, _, err := s.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: name, Role: role, Groups: groups}, "user:test", "")
			require.NoError(t, err)
			return s.Connect(client.WithToken(made.Secret))
		}
		maker := as("maker", api.RoleAgent)
		as("ada", api.RoleAdmin)
		ben := as("ben", api.RoleOperator, "finance")
		as("carol", api.RoleOperator, "finance")
		as("sees", api.RoleObserver, "finance")
		dan := as("dan", api.RoleOperator)
		for name, c := range map[string]*client.Client{"ben": ben, "dan": dan} {
			s.verified(t, c, "ops", name, s.http)
		}
		about := func(name string) int {
			return len(s.http.about("/"+name+"\nApproval")) + strings.Count(strings.Join(s.http.about("/"+name+"\n"), ""), "Agent coder")
		}
		before := map[string]int{"ben": about("ben"), "dan": about("dan")}
		runID := raiseEscalating(t, maker, "one", &api.Escalation{Steps: []api.EscalationStep{
			{Notify: []string{"group:finance", "user:sees", "user:nobody"}},
			{AfterMs: 3_600_000, Notify: []string{"role:operator"}},
		}})
		eventually(t, "ben is notified", func() bool { return about("ben") > before["ben"] })
		require.Equal(t, before["dan"], about("dan"), "the other step is not due")
		events := s.eventTexts(t, runID)
		require.Contains(t, events, `"who":"user:ben","channels":["ops"]`)
		require.Contains(t, events, `"who":"user:carol","why_not":"no_address"`)
		require.Contains(t, events, `"who":"user:sees","why_not":"may_not_decide"`)
		require.Contains(t, events, `"who":"user:nobody","why_not":"may_not_decide"`)
		effects := s.advances(t, "one")
		require.Len(t, effects, 1)
		require.Greater(t, effects[0].DueAtMs, time.Now().Add(50*time.Minute).UnixMilli())
		s.healthy(t)
	})
}

// eventTexts returns the bodies of a run's events.
func (s *service) eventTexts(t *testing.T, runID string) string {
	t.Helper()
	events, _, err := s.Store.EventsWithin(t.Context(), runs.EventQuery{RunID: runID, Limit: 1000, MaxBytes: 1 << 20})
	require.NoError(t, err)
	var all strings.Builder
	for i := range events {
		all.Write(events[i].Body)
	}
	return all.String()
}
