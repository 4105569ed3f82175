package storetest

import (
	"context"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/webhooks"
)

// columnTests read the database past the store.
var columnTests = map[string]func(*harness){
	"columns/every one of an effect is written and read": func(h *harness) {
		ids := h.askers("done", "failed", "leased")
		h.clock.Advance(1)
		h.webhook("hook", webhooks.Settings{URL: "https://example.com", SessionPrefixes: []string{"hooked"}})
		h.do(&runs.CreateRun{SessionID: "hooked", RunID: "hooked", Input: api.JSON(`1`), SessionGiven: true})
		for _, name := range []string{"done", "failed", "leased"} {
			h.claimEffect("session-of-"+name, h.effectIDOf(name))
		}
		h.do(&runs.FinishEffect{SessionID: "session-of-done", EffectID: h.effectIDOf("done"), Attempt: 1})
		h.do(&runs.FinishEffect{SessionID: "session-of-failed", EffectID: h.effectIDOf("failed"), Attempt: 1, Error: "never", Permanent: true})

		listed, loaded := Tables{}, Tables{}
		for _, effect := range h.effects(reads.EffectQuery{Limit: 10}) {
			listed.add("effects", effectColumns(&effect))
			// A failure of another attempt changes nothing and returns the loaded row.
			reply := h.do(&runs.FinishEffect{SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: 7, Error: "late"})
			require.True(h, reply.Existing)
			loaded.add("effects", effectColumns(reply.Effect))
		}
		require.Greater(h, len(listed["effects"]), len(ids))
		h.requireRows("effects", effectColumns(&model.Effect{}), listed, loaded)
	},
	"columns/every one of a rule is written and read": func(h *harness) {
		h.wait("s", "r", approvals("a", "b"))
		forMs := int64(1_000)
		h.do(&runs.ResolveApprovals{RunID: "r", Actor: person, Resolutions: []runs.ApprovalDecision{
			{RequestID: "a", Behavior: api.BehaviorDeny, Reason: "never", Remember: api.RememberAlways, RememberForMs: &forMs},
		}})
		h.do(&runs.AddRule{SessionID: "s", RuleID: "l-1", AgentID: model.DefaultAgentID, ToolName: "write", Match: anyInput, MaxUses: 2, Actor: person})
		request := approval("c")
		request.ToolName = "write"
		h.do(&runs.CancelRun{RunID: "r"})
		require.Equal(h, "l-1", h.settledBy("s", "r-2", request))
		h.do(&runs.AddRule{RuleID: "l-2", Effect: api.RuleAsk, Match: api.RuleMatch{PatternKeys: []string{"k"}}, Escalation: &api.Escalation{AtDeadline: api.DeadlineKeep}, Actor: runs.Actor{Name: "ann", ViaPrincipal: "service:gateway"}})
		h.do(&runs.RevokeRule{RuleID: "l-2", Actor: person})
		h.do(&runs.AddRule{RuleID: "l-3", Effect: api.RuleHint, Match: api.RuleMatch{PatternKeys: []string{"k"}}, Hint: &api.Hint{Level: api.HintWarn, Text: "slow"}, Actor: person})

		listed, single := Tables{}, Tables{}
		list, err := h.store.Rules(h.ctx, reads.RuleQuery{Limit: 10})
		require.NoError(h, err)
		require.Len(h, list, 4)
		for i := range list {
			listed.add("rules", ruleColumns(&list[i].Rule))
			record := h.rule(list[i].Rule.RuleID)
			single.add("rules", ruleColumns(&record.Rule))
		}
		h.requireRows("rules", ruleColumns(&rules.Rule{}), listed, single)
	},
	"columns/every one of a message is written and read": func(h *harness) {
		h.child("r")
		for _, id := range []string{"acknowledged", "dead", "other"} {
			h.deliver("child", "r", id)
		}
		h.mailbox("child")
		h.clock.Advance(model.MessageLeaseMs)
		h.mailbox("child")
		h.clock.Advance(model.MessageLeaseMs)
		h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("acknowledged")})
		h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("other")})
		h.mailbox("child")
		h.clock.Advance(model.MessageLeaseMs)
		h.deliver("child", "r", "read")
		h.mailbox("child")

		loaded := Tables{}
		for _, command := range []runs.Command{
			&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("acknowledged")},
			&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("other")},
			&runs.ReadMailbox{SessionID: "child", DeadLetters: true},
			&runs.ReplayMessage{SessionID: "child", MessageID: model.MessageIDOf("read")},
		} {
			for _, message := range h.do(command).Messages {
				loaded.add("messages", messageColumns(&message))
			}
		}
		require.Len(h, loaded["messages"], 4)
		h.requireRows("messages", messageColumns(&model.Message{}), loaded)
	},
}

// webhookStore is a store that keeps webhooks.
type webhookStore interface {
	webhooks.Store
	RefreshWebhooks(ctx context.Context) error
	DueDeliveries(ctx context.Context, webhookID string, limit int) ([]reads.DueEffect, error)
}

// webhook creates a webhook for the events of later decisions.
func (h *harness) webhook(webhookID string, settings webhooks.Settings) {
	h.Helper()
	store, keeps := h.store.(webhookStore)
	require.True(h, keeps)
	added, err := store.AddWebhook(h.ctx, &webhooks.Endpoint{WebhookID: webhookID, Settings: settings, DataKey: "k", Secret: "s", CreatedBy: person.Name}, nil)
	require.NoError(h, err)
	require.True(h, added)
	require.NoError(h, store.RefreshWebhooks(h.ctx))
}

// requireRows checks that the database has the rows that were read, that a walk returns them
// too, and that one of them sets each column.
func (h *harness) requireRows(table string, columns map[string]any, reads ...Tables) {
	h.Helper()
	stored := h.database.Tables(h)[table]
	set := map[string]bool{}
	for _, row := range stored {
		for column := range row {
			set[column] = true
		}
	}
	require.Equal(h, slices.Sorted(maps.Keys(columns)), slices.Sorted(maps.Keys(set)))
	for _, read := range append(reads, WalkedTables(h.ctx, h, h.store)) {
		read.sort()
		require.Empty(h, Diff(stored, read[table]))
	}
}
