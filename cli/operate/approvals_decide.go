package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs"
)

// decision holds what allow and deny share.
type decision struct {
	console.Reporting
	pendingRef
	following
	onRecord
	remembering
	InputDigest string   `name:"input-digest" placeholder:"DIGEST" help:"Decide only if the input still has this digest, as printed by show."`
	IDs         []string `arg:"" name:"request-id" help:"Request handles as printed by list, or request ids; the session id may precede a single id."`
}

type approvalsAllow struct {
	decision
	UpdatedInputJSON string `name:"updated-input-json" xor:"updated" placeholder:"JSON" help:"Input to use instead of the requested one."`
	UpdatedInputFile string `name:"updated-input-file" xor:"updated" placeholder:"PATH" help:"Read that input from a file; - for stdin."`
	Edit             bool   `xor:"updated" help:"Edit the input in $$VISUAL or $$EDITOR, and review the changes before allowing it."`
}

// Run allows one request.
func (c *approvalsAllow) Run(ctx context.Context, terminal *console.Console) error {
	updated, err := jsonArgument(terminal, "--updated-input", c.UpdatedInputJSON, c.UpdatedInputFile)
	if err != nil {
		return err
	}
	if c.Edit {
		return c.allowEdited(ctx, terminal)
	}
	return c.decide(ctx, terminal, "allowed", api.ApprovalResolution{
		Behavior: api.BehaviorAllow, UpdatedInput: updated, Justification: c.Justification,
	})
}

type approvalsDeny struct {
	decision
	Reason string `placeholder:"TEXT" help:"Message to the agent that asked."`
}

// Run denies one request.
func (c *approvalsDeny) Run(ctx context.Context, terminal *console.Console) error {
	return c.decide(ctx, terminal, "denied", api.ApprovalResolution{
		Behavior: api.BehaviorDeny, Reason: c.Reason, Justification: c.Justification,
	})
}

func (c *decision) decide(ctx context.Context, terminal *console.Console, what string, resolution api.ApprovalResolution) error {
	return c.Call(func(opened *client.Client) error {
		if err := c.splitIDs(ctx, opened); err != nil {
			return err
		}
		if len(c.IDs) > 1 && (c.InputDigest != "" || resolution.UpdatedInput != nil || c.IdempotencyKey != "" || c.Remember != "") {
			return console.Usage("--input-digest, an edit, --remember and --idempotency-key are for one request")
		}
		var failed error
		for _, requestID := range c.IDs {
			if err := c.decideOne(ctx, terminal, opened, requestID, what, resolution); err != nil {
				if len(c.IDs) == 1 {
					return err
				}
				if code, cause := console.CodeOf(err); cause != nil && code != console.ExitDone {
					terminal.Say("%s: %s", console.Printable(requestID, false), console.Explain(cause, terminal.Now()))
				}
				failed = console.ExitWith(console.ExitError)
			}
		}
		return failed
	})
}

func (c *decision) decideOne(ctx context.Context, terminal *console.Console, opened *client.Client, requestID, what string, resolution api.ApprovalResolution) error {
	resolution.RequestID, resolution.InputDigest = requestID, c.InputDigest
	open, err := c.seen(ctx, terminal, opened, resolution)
	if err != nil && !errors.Is(err, errNotOpen) {
		return err
	}
	if err := c.remember(terminal, open, err, &resolution); err != nil {
		return err
	}
	item, run, err := c.send(ctx, opened, open, err, resolution)
	if err != nil {
		return err
	}
	if item != nil {
		requestID = item.ID
	}
	return c.finish(ctx, terminal, c.JSON, opened, requestID, what, run, decidedFields(item, resolution.UpdatedInput)...)
}

// exact reports whether the resolution can only apply to one request, whatever is raised
// meanwhile. A run uses an id once. A denial allows nothing, so it may apply to any request
// with the id.
func (c *decision) exact(resolution api.ApprovalResolution) bool {
	return resolution.Behavior != api.BehaviorAllow || resolution.InputDigest != "" || c.RunID != ""
}

// seen finds the open request to decide. If only its id names it, seen shows it and asks
// first.
func (c *decision) seen(ctx context.Context, terminal *console.Console, opened *client.Client, resolution api.ApprovalResolution) (*api.PendingApprovalView, error) {
	item, byID, err := c.approval(ctx, opened, resolution.RequestID)
	if err != nil || !byID || c.exact(resolution) {
		return item, err
	}
	return item, confirmBareID(terminal, listed([]api.PendingApprovalView{*item}), item.Request.Handle, "Allow it? [y/N] ",
		", or give --input-digest "+item.Request.InputDigest)
}

// splitIDs moves a session's id that precedes the request's to its flag. The first of two
// words is a session unless an open request has that id or handle, or a settled one that handle.
// Then both words are requests, and one that is also a session is refused: a denial is not confirmed,
// and would reach a request that nobody meant.
func (c *decision) splitIDs(ctx context.Context, opened *client.Client) error {
	if len(c.IDs) != 2 {
		return nil
	}
	first := c.IDs[0]
	var request, session [2]bool // what each of the words names
	for item, err := range opened.AllApprovals(ctx, client.PendingListParams{}) {
		if err != nil {
			return err
		}
		for i, word := range c.IDs {
			request[i] = request[i] || item.Request.ID == word || console.NamesHandle(word, item.Request.Handle)
			session[i] = session[i] || item.SessionID == word
		}
	}
	if !request[0] && !session[0] { // it may have been decided since the person saw it
		view, err := pendingRef{}.settled(ctx, opened, api.RequestApproval, first)
		if err != nil && client.Away(err) {
			return err
		}
		request[0] = err == nil && console.NamesHandle(first, handleOf(view))
	}
	if request[0] && (c.SessionID != "" || c.RunID != "") {
		return nil // the flag says where both requests are
	}
	if request[0] {
		if !session[0] { // it may have no open approval any more
			_, err := opened.GetSession(ctx, first)
			if err != nil && (client.Away(err) || !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrInvalid)) {
				return err
			}
			session[0] = err == nil
		}
		for i, word := range c.IDs {
			if request[i] && session[i] {
				return console.Usage("%s is a session and a request; decide one request at a time, with --session-id", word)
			}
		}
		return nil
	}
	if c.SessionID != "" && c.SessionID != first {
		return console.Usage("two sessions are named: %s and %s", c.SessionID, first)
	}
	c.SessionID, c.IDs = first, c.IDs[1:]
	return nil
}

// decidedFields describes the decided request, nothing for nil: the tool, and the original
// and edited input.
func decidedFields(item *api.ApprovalRequest, updated api.JSON) []console.Field {
	if item == nil {
		return nil
	}
	fields := []console.Field{{"tool", item.ToolName}, {"input", prompt.Compact(item.Input)}}
	if updated != nil {
		fields = append(fields, console.Field{"edited to", prompt.Compact(updated)})
	}
	return fields
}

// send decides the request on its run, bound to the shown digest and handle, and returns
// it. If the request is not open (notOpen) but its run or session was named, it sends the
// decision anyway: the service recognizes the repeat of a keyed call, or says what was
// decided.
func (c *decision) send(ctx context.Context, opened *client.Client, item *api.PendingApprovalView, notOpen error, resolution api.ApprovalResolution) (*api.ApprovalRequest, *client.RunResult, error) {
	name, runID := resolution.RequestID, c.RunID
	var request *api.ApprovalRequest
	switch {
	case item != nil:
		runID, request = item.RunID, &item.Request
	case c.RunID == "" && c.SessionID == "":
		return nil, nil, c.whatBecame(ctx, opened, name, notOpen)
	default:
		var err error
		if request, err = c.raised(ctx, opened, name); err != nil {
			return nil, nil, err
		}
		// A request raised just now under this id has not been seen by anybody.
		if !c.exact(resolution) && (request == nil || !console.NamesHandle(name, request.Handle)) {
			return nil, nil, c.whatBecame(ctx, opened, name, notOpen)
		}
	}
	if request != nil {
		resolution = boundTo(resolution, request)
	}
	params := client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{resolution}, IdempotencyKey: c.IdempotencyKey}
	var run *client.RunResult
	var err error
	if runID == "" {
		run, err = opened.ResolveActiveRunApprovals(ctx, c.SessionID, params)
	} else {
		run, err = opened.ResolveRunApprovals(ctx, runID, params)
	}
	return request, run, err
}

// whatBecame returns an error with the decision about a request that is not open, or
// notOpen.
func (c *decision) whatBecame(ctx context.Context, opened *client.Client, name string, notOpen error) error {
	settled, err := c.settled(ctx, opened, api.RequestApproval, name)
	if err != nil {
		return notOpen
	}
	return fmt.Errorf("approval %s was %s", name, decidedText(settled.RecordedDecision, time.Now()))
}

// boundTo binds the decision to the request: the service refuses it if something else is
// open by then. It keeps a digest already set, of what the person saw.
func boundTo(resolution api.ApprovalResolution, request *api.ApprovalRequest) api.ApprovalResolution {
	resolution.RequestID, resolution.Handle = request.ID, request.Handle
	resolution.InputDigest = cmp.Or(resolution.InputDigest, request.InputDigest)
	return resolution
}

// raised returns the newest approval with that id or handle in the events of the named run
// or session; nil if there is none. A repeated keyed call must carry the same digest, even
// after the request was settled.
func (p pendingRef) raised(ctx context.Context, c *client.Client, name string) (*api.ApprovalRequest, error) {
	entries := c.AllSessionEvents(ctx, p.SessionID, client.EventListParams{})
	if p.RunID != "" {
		entries = c.AllRunEvents(ctx, p.RunID, client.EventListParams{})
	}
	var newest *api.ApprovalRequest
	for entry, err := range entries {
		if err != nil {
			return nil, err
		}
		change, err := client.ChangeIn(&entry)
		if err != nil {
			continue
		}
		for i := range change.Approvals {
			if request := &change.Approvals[i]; request.ID == name || console.NamesHandle(name, request.Handle) {
				newest = request
			}
		}
	}
	return newest, nil
}

// remembering are the flags of a decision that also applies to later calls.
type remembering struct {
	Remember    string         `enum:",session,always" default:"" placeholder:"SCOPE" help:"Also create a rule, for this session or always. Shows its text first."`
	RememberFor *time.Duration `name:"remember-for" placeholder:"DURATION" help:"Lifetime of the rule; 0 never expires (default 720h; with session as long as the session)."`
	RememberAs  string         `name:"remember-as" enum:",exact,command,prefix,folder,tool" default:"" placeholder:"WHAT" help:"Scope of the rule: exact, this call (default); command, this command with any description; prefix, commands that start with the same words; folder, files in the same folder; tool, all calls of the tool in this session."`
	Yes         bool           `short:"y" help:"Create the rule without asking for confirmation."`
}

// remember shows the rule that the decision would write, asks, and adds it to the
// resolution. item is nil for a request that is not open (notOpen).
func (c *decision) remember(terminal *console.Console, item *api.PendingApprovalView, notOpen error, resolution *api.ApprovalResolution) error {
	if c.Remember == "" {
		if c.RememberFor != nil {
			return console.Usage("--remember-for needs --remember")
		}
		if c.RememberAs != "" {
			return console.Usage("--remember-as needs --remember")
		}
		return nil
	}
	resolution.Remember, resolution.RememberAs = api.Remember(c.Remember), api.RememberAs(c.RememberAs)
	// Send the shown expiry explicitly, so that a service with a shorter maximum refuses
	// instead of writing another rule. A session rule lasts as long as its session.
	if resolution.Remember != api.RememberSession {
		resolution.RememberForMs = client.RememberFor(api.DefaultRuleAgeMs * time.Millisecond)
	}
	if c.RememberFor != nil {
		if *c.RememberFor < 0 || *c.RememberFor > 0 && *c.RememberFor < time.Millisecond {
			return console.Usage("--remember-for must be 0 or at least 1ms")
		}
		resolution.RememberForMs = client.RememberFor(*c.RememberFor)
	}
	switch {
	case item == nil && c.Yes && c.IdempotencyKey != "":
		// A repeat of a call that succeeded; the service reports the result.
		return nil
	case item == nil:
		return notOpen // the rule cannot be shown for a request that is not open
	}
	rule, err := runs.PreviewRule(item.Request, item.SessionID, runs.DecisionOf(*resolution), 0, terminal.Now().UnixMilli())
	if err != nil {
		return console.Usage("this rule is not possible: %v", err)
	}
	// Bind the decision to the shown request, in case another run reuses the id.
	c.RunID, *resolution = item.RunID, boundTo(*resolution, &item.Request)
	return confirm(terminal, c.Yes, "The decision also creates this rule:\n  "+console.Printable(rule.Text, false)+examplesText(rule.Examples), "Decide and create this rule? [y/N] ", "nothing was decided")
}

// writtenRule returns the rule that a decision wrote, as the run shows it; "" if it wrote
// none, or if the run does not show it because something else is open.
func writtenRule(run *api.RunView, requestID string) string {
	if run.Resume == nil {
		return ""
	}
	for i := range run.Resume.Approvals {
		settled := &run.Resume.Approvals[i]
		if settled.Resolution.Rule != nil && settled.Request.ID == requestID {
			return settled.Resolution.Rule.RuleID + ": " + settled.Resolution.Rule.Text
		}
	}
	return ""
}
