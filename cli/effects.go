package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

type effectCommands struct {
	List  effectsList  `cmd:"" help:"List what decisions owe, or owed, to other sessions."`
	Retry effectsRetry `cmd:"" help:"Have effects tried again at once, also those that were given up."`
}

type effectsList struct {
	connection
	format
	State     string `placeholder:"STATE" help:"Only those that are pending, done or failed."`
	SessionID string `name:"session-id" placeholder:"ID" help:"Only those that this session owes."`
	Limit     int    `default:"100" placeholder:"N" help:"At most this many (default ${default}); 0 for all."`
}

// Run prints effects, oldest first.
func (c *effectsList) Run(ctx context.Context, console *console) error {
	if c.State != "" && !model.KnownEffectState(api.EffectState(c.State)) {
		return usage("%q is no state; there are pending, done and failed", c.State)
	}
	if c.Limit < 0 {
		return usage("--limit must not be negative")
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	items, err := collect(opened.AllEffects(ctx, client.EffectListParams{
		State: api.EffectState(c.State), SessionID: c.SessionID,
	}), c.Limit)
	if err != nil {
		return c.reached(err)
	}
	return printEffects(console, c.JSON, items)
}

func printEffects(console *console, asJSON bool, items []api.EffectView) error {
	if asJSON {
		return printJSON(console.stdout, items)
	}
	rows := make([][]string, len(items))
	for i, effect := range items {
		rows[i] = []string{
			effect.EffectID, effect.SessionID, effect.TargetSessionID, string(effect.State),
			strconv.FormatInt(effect.Attempts, 10), ago(effect.CreatedAtMs, console.now()), cell(effect.LastError, 60),
		}
	}
	return table(console.stdout, []string{"EFFECT", "SESSION", "TARGET", "STATE", "ATTEMPTS", "OWED", "LAST ERROR"}, rows)
}

type effectsRetry struct {
	connection
	format
	AllFailed bool   `name:"all-failed" help:"All that were given up, instead of one."`
	SessionID string `arg:"" optional:"" name:"session-id" help:"The session that owes it; with --all-failed, only those that this session owes."`
	EffectID  string `arg:"" optional:"" name:"effect-id" help:"The effect's id."`
}

// Run lets effects be tried at once.
func (c *effectsRetry) Run(ctx context.Context, console *console) error {
	if c.AllFailed && c.EffectID != "" || !c.AllFailed && c.EffectID == "" {
		return usage("say which: SESSION EFFECT, or --all-failed")
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	wanted := []api.EffectView{{SessionID: c.SessionID, EffectID: c.EffectID}}
	if c.AllFailed {
		wanted, err = collect(opened.AllEffects(ctx, client.EffectListParams{State: api.EffectFailed, SessionID: c.SessionID}), 0)
		if err != nil {
			return c.reached(err)
		}
	}
	retried := []api.EffectView{}
	for _, effect := range wanted {
		now, err := opened.RetryEffect(ctx, effect.SessionID, effect.EffectID)
		if err != nil {
			return c.reached(fmt.Errorf("effect %s: %w", effect.EffectID, err))
		}
		retried = append(retried, *now)
	}
	return printEffects(console, c.JSON, retried)
}
