package operate

import (
	"context"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
)

// remembering are the flags of a decision that is to hold for later calls too.
type remembering struct {
	Remember    string         `enum:",session,always" default:"" placeholder:"SCOPE" help:"Also write a rule: for this session, or always. Its text is shown first."`
	RememberFor *time.Duration `name:"remember-for" placeholder:"DURATION" help:"How long the rule holds; 0 for ever (default 720h)."`
	Yes         bool           `short:"y" help:"Write the rule without being asked."`
}

// remember shows the text of the rule that the decision would write, asks, and puts
// it into the resolution.
func (c *decision) remember(ctx context.Context, terminal *console.Console, opened *client.Client, resolution *api.ApprovalResolution) error {
	if c.Remember == "" {
		if c.RememberFor != nil {
			return console.Usage("--remember-for needs --remember")
		}
		return nil
	}
	resolution.Remember = api.Remember(c.Remember)
	// Said in so many words: where the service lets no rule hold that long it refuses,
	// and does not write another rule than the one that is shown.
	resolution.RememberForMs = client.RememberFor(api.DefaultRuleAgeMs * time.Millisecond)
	if c.RememberFor != nil {
		if *c.RememberFor < 0 || *c.RememberFor > 0 && *c.RememberFor < time.Millisecond {
			return console.Usage("--remember-for must be 0 or at least 1ms")
		}
		resolution.RememberForMs = client.RememberFor(*c.RememberFor)
	}
	item, err := c.approval(ctx, opened, resolution.RequestID)
	switch {
	case errors.Is(err, errNotOpen) && c.Yes && c.IdempotencyKey != "":
		// A repeat of a call that succeeded: the service says what became of it.
		return nil
	case err != nil:
		return err // the rule for what is not open cannot be shown
	}
	rule, err := runs.PreviewRule(item.Request, item.SessionID, runs.DecisionOf(*resolution), 0, terminal.Now().UnixMilli())
	if err != nil {
		return console.Usage("no such rule can be written: %v", err)
	}
	// What is decided is what was shown, should another run use the same id by then.
	c.RunID, resolution.RequestID = item.RunID, item.Request.ID
	return confirm(terminal, c.Yes, "With the decision this rule is written:\n  "+rule.Text, "Decide so, and write this rule? [y/N] ", "nothing was decided")
}

// writtenRule is the rule that a decision wrote, as the run shows it; "" when it
// wrote none, or the run does not show it while something else is open.
func writtenRule(run *api.RunView, requestID string) string {
	if run.Resume == nil {
		return ""
	}
	for i := range run.Resume.Approvals {
		settled := &run.Resume.Approvals[i]
		if settled.Resolution.Rule != nil && (settled.Request.ID == requestID || settled.Request.Handle == requestID) {
			return settled.Resolution.Rule.RuleID + ": " + settled.Resolution.Rule.Text
		}
	}
	return ""
}
