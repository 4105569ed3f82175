package notify_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/test/inprocess"
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
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		as := func(name string, role api.Role, groups ...string) *client.Client {
			_, c := s.as(t, api.CreateTokenBody{Name: name, Role: role, Groups: groups})
			return c
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
			{Notify: []string{"group:finance", "group:fiance", "user:sees", "user:nobody"}},
			{AfterMs: 3_600_000, Notify: []string{"role:operator"}},
		}})
		eventually(t, "ben is notified", func() bool { return about("ben") > before["ben"] })
		require.Equal(t, before["dan"], about("dan"), "the other step is not due")
		events := s.eventTexts(t, runID)
		require.Contains(t, events, `"who":"user:ben","channels":["ops"]`)
		require.Contains(t, events, `"who":"user:carol","channels":[],"why_not":"no_address"`)
		require.Contains(t, events, `"who":"user:sees","channels":[],"why_not":"may_not_decide"`)
		require.Contains(t, events, `"who":"user:nobody","channels":[],"why_not":"may_not_decide"`)
		require.NotContains(t, events, `"who":"group:fiance"`)
		explained, err := ben.ExplainRequest(t.Context(), s.recordOf(t, runID).Requests[0].Handle)
		require.NoError(t, err)
		require.Contains(t, explained.NotReached, api.ExplainedNotReached{Who: "group:fiance", WhyNot: runs.WhyNobody}, "a misspelt group next to one that fits")
		effects := s.advances(t, "one")
		require.Len(t, effects, 1)
		require.Greater(t, effects[0].DueAtMs, time.Now().Add(50*time.Minute).UnixMilli())
		s.healthy(t)
	})
}

// Three steps on the clock of the machine: each person is notified by their step, in its order.
func TestThreeStepsOfAnEscalation(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		people := s.people(t)
		for _, name := range []string{"ada", "ben"} {
			s.verified(t, people[name], "ops", name, s.http)
		}
		runID := raiseEscalating(t, people["maker"], "steps", &api.Escalation{Steps: []api.EscalationStep{
			{Notify: []string{"user:ben"}},
			{AfterMs: 200, Notify: []string{"role:admin"}},
			{AfterMs: 400, Notify: []string{"user:ben"}, Urgent: true},
		}})
		eventually(t, "the last step is done", func() bool { return strings.Contains(s.eventTexts(t, runID), `"step":2`) })
		record := s.recordOf(t, runID)
		for step, afterMs := range []int64{0, 200, 400} {
			require.GreaterOrEqual(t, s.stepAtMs(t, runID, step)-record.Requests[0].CreatedAtMs, afterMs, "step %d", step)
		}
		events := s.eventTexts(t, runID)
		at := 0
		for step, who := range []string{"user:ben", "user:ada", "user:ben"} {
			next := strings.Index(events[at:], fmt.Sprintf(`"step":%d,"to":[{"who":%q,"channels":["ops"]`, step, who))
			if step == 2 && next < 0 { // the steps before it were late, and were done with it
				next = strings.Index(events[at:], `"step":2,"to":[{"who":"user:ben","channels":[],"why_not":"same_message"`)
			}
			require.GreaterOrEqual(t, next, 0, "step %d: %s", step, events)
			at += next
		}
		s.healthy(t)
	})
}

// People whom also_from names after the step is done have what their credential allows: it grants neither a role nor
// reach, and its on-call sources are not asked.
func TestAlsoFromGrantsNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		source := &rota{people: []string{"user:sees"}}
		s := start(t, database, time.Second, true, func(o *inprocess.Options) {
			o.OnCall = map[string]notify.OnCall{"payments": source}
			o.Store.Escalations = &escalation.Settings{OnCall: map[string]bool{"payments": true}}
		})
		people := s.people(t)
		_, people["sees"] = s.as(t, api.CreateTokenBody{Name: "sees", Role: api.RoleObserver, Groups: []string{"finance"}})
		_, people["elsewhere"] = s.as(t, api.CreateTokenBody{Name: "elsewhere", Role: api.RoleOperator, AgentIDs: []string{"another"}})
		runID := raiseEscalating(t, people["maker"], "s", &api.Escalation{Steps: []api.EscalationStep{
			{Notify: []string{"user:ben"}, AlsoFrom: []string{"user:sees", "group:finance", "user:elsewhere", "user:maker", "role:operator", "oncall:payments"}},
			{AfterMs: 3_600_000, Notify: []string{"role:admin"}, AlsoFrom: []string{"user:sees"}},
		}})
		eventually(t, "the step is done", func() bool { return strings.Contains(s.eventTexts(t, runID), `"request_notified"`) })
		require.Contains(t, s.eventTexts(t, runID), `"to":[{"who":"user:ben","channels":[],"why_not":"no_address"}]`)
		require.Zero(t, source.asked.Load())

		run, err := people["ben"].GetRun(t.Context(), runID)
		require.NoError(t, err)
		explained, err := people["ben"].ExplainRequest(t.Context(), run.PendingApprovals[0].Handle)
		require.NoError(t, err)
		require.Equal(t, []string{"user:ada", "user:ben"}, explained.MayDecide)
		require.Equal(t, []string{"role:admin"}, explained.Next.Who)
		require.NotContains(t, explained.Text, "sees")

		allow := client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "a", Behavior: api.BehaviorAllow}}}
		for name, want := range map[string]error{"sees": client.ErrForbidden, "maker": client.ErrForbidden, "elsewhere": client.ErrNotFound} {
			_, err := people[name].ResolveRunApprovals(t.Context(), runID, allow)
			require.ErrorIs(t, err, want, name)
		}
		s.resolve(t, people["ben"], runID, api.BehaviorAllow, "a")

		// Nor does it lift the exclusion of who asked.
		excluding, err := people["ada"].CreateRun(t.Context(), client.CreateRunParams{SessionID: "s-2", AgentID: "coder", Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{
			ID: "b", ToolCallID: "b", ToolName: "deploy", Input: api.JSON(`{}`), ExcludeRequester: true,
			Escalation: &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"user:ben"}, AlsoFrom: []string{"user:ada"}}}},
		}}}})
		require.NoError(t, err)
		eventually(t, "the step is done", func() bool { return strings.Contains(s.eventTexts(t, excluding.RunID), `"request_notified"`) })
		allow.Resolutions[0].RequestID = "b"
		_, err = people["ada"].ResolveRunApprovals(t.Context(), excluding.RunID, allow)
		require.ErrorContains(t, err, "requester_excluded")
		s.healthy(t)
	})
}

// stepAtMs returns when a step of a run's only request was done.
func (s *service) stepAtMs(t *testing.T, runID string, step int) int64 {
	t.Helper()
	events, _, err := s.Store.EventsWithin(t.Context(), reads.EventQuery{RunID: runID, Limit: 1000, MaxBytes: 1 << 20})
	require.NoError(t, err)
	at := slices.IndexFunc(events, func(e model.Event) bool {
		return e.Type == api.EventRequestNotified && strings.Contains(string(e.Body), fmt.Sprintf(`"step":%d,`, step))
	})
	require.GreaterOrEqual(t, at, 0, "step %d", step)
	return events[at].TimestampMs
}

// eventTexts returns the bodies of a run's events.
func (s *service) eventTexts(t *testing.T, runID string) string {
	t.Helper()
	events, _, err := s.Store.EventsWithin(t.Context(), reads.EventQuery{RunID: runID, Limit: 1000, MaxBytes: 1 << 20})
	require.NoError(t, err)
	var all strings.Builder
	for i := range events {
		all.Write(events[i].Body)
	}
	return all.String()
}

// manyPeople is a store in which only the last people of a large group have addresses.
type manyPeople struct{ notify.Store }

func (manyPeople) Addresses(_ context.Context, principals []string) (all []notify.Address, _ error) {
	for _, who := range principals {
		if who >= "user:0990" {
			all = append(all, notify.Address{AddressID: who, Principal: who, Channel: "board", VerifiedAtMs: 1})
		}
	}
	return all, nil
}

// oneRequest is a reader of one open request.
type oneRequest struct {
	notify.Reader
	request model.Request
}

func (r *oneRequest) DecisionByHandle(context.Context, string) (*model.DecidedRequest, error) {
	return &model.DecidedRequest{PendingRequest: model.PendingRequest{Request: r.request}}, nil
}
func (*oneRequest) NowMs(context.Context) (int64, error) { return 2, nil }
func (*oneRequest) Run(context.Context, string) (*model.RunRecord, error) {
	return &model.RunRecord{}, nil
}

// In a group of a thousand, those who can be reached are, even if hundreds before them cannot.
func TestAStepForAThousandPeople(t *testing.T) {
	t.Parallel()
	steps := toMany(t, 1_000, `[{"after_ms":0,"notify":["role:operator"]}]`)
	require.Len(t, steps, 1)
	to := steps[0].To
	require.Len(t, to, api.MaxRecipients)
	for n, recipient := range to {
		require.Equal(t, n < 10, recipient.Channel != "", recipient.Principal)
	}
	require.Equal(t, "user:0990", to[0].Principal)
	require.Equal(t, runs.WhyNoAddress, to[10].WhyNot)
}

// An agent may name everybody in each selector. Comparing each person with all others would outlast the timeout of the tests.
func TestManySelectorsOfManyPeople(t *testing.T) {
	t.Parallel()
	everybody := strings.Repeat(`"role:operator",`, api.MaxSelectors-1) + `"role:operator"`
	steps := toMany(t, 60_000, `[{"after_ms":0,"notify":[`+everybody+`]}]`)
	require.Len(t, steps, 1)
	require.Len(t, steps[0].To, api.MaxRecipients)
}

// toMany looks up the recipients of steps that are due, of a request that so many operators may decide.
func toMany(t *testing.T, operators int, steps string) []runs.DueStep {
	t.Helper()
	var principals []string
	var identities []*auth.Identity
	for n := range operators {
		principals = append(principals, fmt.Sprintf("user:%04d", n))
		identities = append(identities, &auth.Identity{Principal: principals[n], Role: api.RoleOperator})
	}
	s := notify.New(notify.Options{
		Store: manyPeople{}, Channels: map[string]notify.Channel{"board": newBoard()},
		Reader: &oneRequest{request: model.Request{
			Handle: "h", Kind: model.KindApproval, CreatedAtMs: 1, EscalationState: api.JSON(`{"next_at_ms":1}`),
			Body: api.JSON(`{"escalation":{"steps":` + steps + `}}`),
		}},
		Deciders:   func(context.Context, *model.Run, *model.Request) ([]string, error) { return principals, nil },
		Identities: func(context.Context) ([]*auth.Identity, error) { return identities, nil },
	})
	advance := &runs.AdvanceRequest{Handle: "h"}
	require.NoError(t, s.Recipients(t.Context(), advance))
	return advance.Steps
}
