package operate

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Effects is the command holdpoint effects.
type Effects struct {
	List  list[api.EffectView, effectFilter] `cmd:"" help:"List follow-up deliveries to sessions, webhooks and people."`
	Retry effectsRetry                       `cmd:"" help:"Retry deliveries immediately, including failed ones."`
}

// effectFilter lists effects, oldest first.
type effectFilter struct {
	State     string `placeholder:"STATE" help:"Only deliveries with this status: pending, done or failed."`
	SessionID string `name:"session-id" aliases:"session" placeholder:"ID" help:"Only deliveries from this session."`
	limited
}

func (f effectFilter) read(ctx context.Context, c *client.Client) ([]api.EffectView, error) {
	return readEffects(ctx, c, client.EffectListParams{State: api.EffectState(f.State), SessionID: f.SessionID}, f.Limit)
}

func readEffects(ctx context.Context, c *client.Client, params client.EffectListParams, limit int) ([]api.EffectView, error) {
	if params.State != "" && !model.KnownEffectState(params.State) {
		return nil, console.Usage("unknown state %q; use pending, done or failed", params.State)
	}
	return collect(c.AllEffects(ctx, params), limit)
}

func (effectFilter) table() table[api.EffectView] { return effectTable }

var effectTable = table[api.EffectView]{
	header: []string{"EFFECT", "SESSION", "FROM", "TO", "STATE", "ATTEMPTS", "CREATED", "LAST ERROR"},
	row: func(effect *api.EffectView, now time.Time) []string {
		return []string{
			effect.EffectID, effect.SessionID, sessionName(effect.SessionID, effect.AgentID, effect.Session), effectTarget(effect), string(effect.State),
			strconv.FormatInt(effect.Attempts, 10), console.Ago(effect.CreatedAtMs, now), console.Cut(effect.LastError, 60),
		}
	},
}

// effectTarget says for whom an effect is: a receiver outside of the service, or a session.
func effectTarget(effect *api.EffectView) string {
	switch {
	case effect.Kind == api.EffectNotify:
		return "a person"
	case effect.WebhookID == api.CallbackWebhookID:
		return "the request's callback"
	case effect.WebhookID != "":
		return effect.WebhookID
	case effect.TargetSessionID != effect.SessionID:
		return sessionName(effect.TargetSessionID, effect.TargetAgentID, effect.TargetSession)
	}
	return "the same session"
}

type effectsRetry struct {
	console.Reporting
	AllFailed bool   `name:"all-failed" help:"Retry all failed deliveries."`
	SessionID string `arg:"" optional:"" name:"session-id" help:"Session that the delivery is from; with --all-failed, only deliveries from this session."`
	EffectID  string `arg:"" optional:"" name:"effect-id" help:"Effect id."`
}

// Run makes effects due immediately.
func (c *effectsRetry) Run(ctx context.Context, terminal *console.Console) error {
	if c.AllFailed && c.EffectID != "" || !c.AllFailed && c.EffectID == "" {
		return console.Usage("name a delivery (SESSION EFFECT), or use --all-failed")
	}
	return c.Call(func(opened *client.Client) error {
		wanted := []api.EffectView{{SessionID: c.SessionID, EffectID: c.EffectID}}
		if c.AllFailed {
			var err error
			wanted, err = collect(opened.AllEffects(ctx, client.EffectListParams{State: api.EffectFailed, SessionID: c.SessionID}), 0)
			if err != nil {
				return err
			}
		}
		retried := []api.EffectView{}
		for _, effect := range wanted {
			now, err := opened.RetryEffect(ctx, effect.SessionID, effect.EffectID)
			if err != nil {
				return fmt.Errorf("effect %s: %w", effect.EffectID, err)
			}
			retried = append(retried, *now)
		}
		return effectTable.print(terminal, c.JSON, retried)
	})
}
