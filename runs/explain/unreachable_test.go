package explain_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A person who may decide and cannot be notified is named, in the explanation of the request and of its run.
func TestPeopleWithoutAnAddress(t *testing.T) {
	t.Parallel()
	everyone := []string{"user:ada", "user:ben", "service:ci", "user:elsewhere"}
	for n := range api.MaxMayDecide {
		everyone = append(everyone, fmt.Sprint("service:ci-", n))
	}
	missed := func(names ...string) (all []api.ExplainedNotReached) {
		for _, name := range names {
			all = append(all, api.ExplainedNotReached{Who: name, WhyNot: runs.WhyNoAddress})
		}
		return all
	}
	toAda := model.Effect{
		SessionID: "s", RunID: "r", Kind: api.EffectNotify, State: api.EffectDone, WebhookID: model.NoticeWebhookID("mail"), CreatedAtMs: now - 19*minute, FinishedAtMs: now - 19*minute,
		Attempts: 1, EffectID: model.NoticeEffectID("mail", "h", "user:ada", 0), Payload: api.JSON(`{"request_handle":"h","request_id":"q","principal":"user:ada","channel":"mail","step":0}`),
	}
	later := model.Effect{
		SessionID: "s", RunID: "r", Kind: api.EffectAdvanceRequest, State: api.EffectPending, CreatedAtMs: now - 20*minute, DueAtMs: now + minute,
		EffectID: model.EffectID(api.EffectAdvanceRequest, "h"), Payload: api.JSON(`{}`),
	}
	for name, test := range map[string]struct {
		channels, with []string
		effects        []model.Effect
		change         func(*model.Request)
		want           []api.ExplainedNotReached
		text           string
	}{
		"nobody has an address":     {channels: []string{"mail", "push"}, want: missed("user:ada", "user:ben"), text: " Nobody was notified. Not reached: ada (no verified address) and ben (no verified address)."},
		"one has":                   {channels: []string{"mail"}, with: []string{"user:ada"}, effects: []model.Effect{toAda}, want: missed("user:ben"), text: " Not reached: ben (no verified address)."},
		"one had":                   {channels: []string{"mail"}, effects: []model.Effect{toAda}, want: missed("user:ben"), text: " Not reached: ben (no verified address)."},
		"all have":                  {channels: []string{"mail"}, with: everyone},
		"nobody turned it on":       {channels: []string{api.PushChannel}},
		"somebody did":              {channels: []string{api.PushChannel}, with: []string{"user:ben"}, want: missed("user:ada"), text: " Not reached: ada (no verified address)."},
		"they are notified later":   {channels: []string{"mail"}, effects: []model.Effect{later}},
		"nobody is notified at all": {},
		"steps say it themselves": {channels: []string{"mail"}, change: func(r *model.Request) {
			r.Body, r.EscalationState = api.JSON(`{"escalation":{"steps":[{"after_ms":0,"notify":["user:ada"]}]}}`), api.JSON(`{"next_step":1}`)
		}},
		"settled": {channels: []string{"mail"}, change: func(r *model.Request) { r.Outcome, r.SettledAtMs = api.OutcomeAllowed, now }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := asked(model.KindApproval, func(r *model.Request) { r.CreatedAtMs = now - 20*minute }).Request
			if test.change != nil {
				test.change(request)
			}
			run := model.Run{RunID: "r", SessionID: "s", AgentID: "coder", Status: api.StatusWaitingForApproval}
			store := &manyRows{rows: &rows{request: *request, effects: test.effects}, run: model.RunRecord{Run: run, Requests: []model.Request{*request}}}
			directory := &credentials{}
			for _, name := range everyone {
				directory.deciders = append(directory.deciders, &auth.Identity{Principal: name, Role: api.RoleOperator})
			}
			directory.deciders[3].SessionPrefixes = []string{"x-"}
			c := &explain.Collector{
				Reader: store, Whole: store, Channels: test.channels, Directory: directory, NowMs: func(context.Context) (int64, error) { return now, nil },
				ShowEffect: func(*model.Effect) api.EffectView { return api.EffectView{} },
				Reachable: func(_ context.Context, principals []string) ([]string, error) {
					return slices.DeleteFunc(slices.Clone(principals), func(one string) bool { return !slices.Contains(test.with, one) }), nil
				},
			}
			e, err := c.OfRequest(t.Context(), "h", runs.Actor{})
			require.NoError(t, err)
			require.Equal(t, test.want, e.NotReached)
			require.Contains(t, e.Text, test.text)
			of, err := c.OfRun(t.Context(), "r", runs.Actor{})
			require.NoError(t, err)
			if request.Open() {
				require.Equal(t, test.want, of.Requests[0].NotReached)
			}
		})
	}
}
