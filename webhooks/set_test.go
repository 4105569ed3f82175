package webhooks

import (
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func owed(set *Set, sessionID, agentID string, event api.EventType) bool {
	found := false
	set.Owed(sessionID, agentID, event, func(int, string) { found = true })
	return found
}

func TestFiltersLetThroughWhatTheyName(t *testing.T) {
	t.Parallel()
	const approval, output = api.EventApprovalResolved, api.EventOutput
	for name, test := range map[string]struct {
		settings       Settings
		passes, passed []string // session, agent, type
	}{
		"none":              {Settings{}, []string{"s", "a", string(approval)}, []string{"s", "a", string(output)}},
		"worker":            {Settings{Kinds: []api.WebhookKind{api.WebhookWorker}}, []string{"s", "a", "progress"}, []string{"s", "a", string(approval)}},
		"a type":            {Settings{Events: []api.EventType{output}}, []string{"s", "a", string(output)}, []string{"s", "a", "progress"}},
		"a type and a kind": {Settings{Events: []api.EventType{output, approval}, Kinds: []api.WebhookKind{api.WebhookApproval}}, []string{"s", "a", string(approval)}, []string{"s", "a", string(output)}},
		"an agent":          {Settings{AgentIDs: []string{"a"}}, []string{"s", "a", string(approval)}, []string{"s", "ab", string(approval)}},
		"a prefix":          {Settings{SessionPrefixes: []string{"prod.", "eu."}}, []string{"eu.1", "a", string(approval)}, []string{"europe", "a", string(approval)}},
	} {
		set := NewSet([]Endpoint{{WebhookID: "w", Settings: test.settings}})
		require.True(t, owed(set, test.passes[0], test.passes[1], api.EventType(test.passes[2])), name)
		require.False(t, owed(set, test.passed[0], test.passed[1], api.EventType(test.passed[2])), name)
	}
	for _, event := range []api.EventType{api.EventRequestNotified, api.EventNotificationFailed, api.EventRequestAcknowledged} {
		for name, settings := range map[string]Settings{"none": {}, "its type": {Events: []api.EventType{event}}, "its kind": {Kinds: []api.WebhookKind{api.WebhookRun}}} {
			require.True(t, owed(NewSet([]Endpoint{{WebhookID: "w", Settings: settings}}), "s", "a", event), "%s, %s", event, name)
		}
		worker := Settings{Kinds: []api.WebhookKind{api.WebhookWorker}}
		require.False(t, owed(NewSet([]Endpoint{{WebhookID: "w", Settings: worker}}), "s", "a", event), event)
		worker.Events = []api.EventType{event}
		require.True(t, owed(NewSet([]Endpoint{{WebhookID: "w", Settings: worker}}), "s", "a", event), "%s, stored by an older service", event)
	}
	require.Nil(t, NewSet([]Endpoint{{WebhookID: "w", DisabledAtMs: 1}}))
	require.False(t, owed(nil, "s", "a", approval))
}

func TestSignaturesAreThoseOfThePublicLibrary(t *testing.T) {
	t.Parallel()
	secret := NewSecret()
	require.NotEqual(t, secret, NewSecret())
	_, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	// The test vector of Standard Webhooks' libraries.
	signature, err := Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, []byte(`{"test": 2432232314}`), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", signature)
	_, err = Sign("msg", 1, nil, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.Error(t, err)
}

// BenchmarkOwed measures the cost of an event for a decision: without webhooks, and with
// the maximum number.
func BenchmarkOwed(b *testing.B) {
	many := make([]Endpoint, api.MaxWebhooks)
	for i := range many {
		many[i] = Endpoint{WebhookID: "w", Settings: Settings{Kinds: []api.WebhookKind{api.WebhookApproval}, SessionPrefixes: []string{"prod."}}}
	}
	for name, set := range map[string]*Set{"none": nil, "32 that do not want it": NewSet(many)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				set.Owed("dev.1", "agent", api.EventApprovalResolved, func(int, string) {})
			}
		})
	}
}
