package codex

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// approvalReply is the body of the replies to a decision about an approval, except for validation
// errors.
type approvalReply struct {
	Status     string `json:"status"`
	ApprovalID string `json:"approvalId"`
	ThreadID   string `json:"threadId,omitempty"`
}

type approvalBody struct {
	Decision api.JSON `json:"decision"`
	Scope    api.JSON `json:"scope"`
	kit.Edits
}

// approvalDecision is a caller's decision.
type approvalDecision struct{ decision, scope string }

func (b *approvalBody) check() (approvalDecision, error) {
	given := approvalDecision{scope: scopeTurn}
	var issues []issue
	given.decision, issues = choose(b.Decision, "decision", accept, decline, cancel)
	if b.Scope != nil {
		var more []issue
		given.scope, more = choose(b.Scope, "scope", scopeTurn, scopeSession)
		issues = append(issues, more...)
	}
	if edit := b.Given(); edit != "" && given.decision == accept {
		issues = append(issues, issue{"custom", []any{edit}, kit.TextNoEdit})
	}
	if issues != nil {
		return given, invalid(issues...)
	}
	return given, nil
}

// decideApproval decides an approval (docs/spec/codex.md#approval-decision). A late decision gets
// 404, whatever the earlier one was.
func (f *face) decideApproval(w http.ResponseWriter, r *http.Request) error {
	var body approvalBody
	if err := f.decode(w, r, &body); err != nil {
		return err
	}
	given, err := body.check()
	if err != nil {
		return err
	}
	actor, err := f.Actor(r)
	if err != nil {
		return err
	}
	approvalID := wire.PathID(r, "approvalId")
	request, err := f.OpenRequest(r.Context(), model.KindApproval, approvalID)
	if err == nil && request != nil {
		_, err = f.Store.Do(r.Context(), given.command(request, actor, f.MaxRuleAgeMs))
	}
	switch {
	case err == nil && request != nil:
		return wire.Respond(w, r, http.StatusOK, approvalReply{statusOK, approvalID, request.SessionID})
	case err == nil || kit.LateOf(err) != kit.NotLate:
		return &kit.Error{Status: http.StatusNotFound, Body: approvalReply{Status: statusNotFound, ApprovalID: wire.Shown(approvalID)}}
	case refusal.CodeOf(err) == api.CodeInvalidRequest, refusal.CodeOf(err) == api.CodeTooManyRules:
		return invalid(given.issuesOf(err)...)
	case kit.Denied(err):
		return err
	}
	return &kit.Error{Status: http.StatusInternalServerError, Cause: err, Body: approvalReply{Status: statusError, ApprovalID: approvalID}}
}

// command returns the command of a decision, with the payload for the runtime.
func (d approvalDecision) command(request *model.Request, actor runs.Actor, maxRuleAgeMs int64) runs.Command {
	payload := decisionPayload(approvalMethod(new(request.Approval())), d.decision, d.scope)
	note := ""
	if d.scope == scopeSession && d.decision != accept {
		note = scopeNote
	}
	if d.decision == cancel {
		return &runs.DecideRequests{
			RunID: request.RunID, CancelRequestID: request.RequestID, CancelReason: note,
			CancelRuntimePayload: payload, Actor: actor,
		}
	}
	resolution := runs.ApprovalDecision{
		RequestID: request.RequestID, Behavior: api.BehaviorDeny, Justification: note, RuntimePayload: payload,
	}
	if d.decision == accept {
		resolution.Behavior = api.BehaviorAllow
		if d.scope == scopeSession {
			resolution.Remember = api.RememberSession
		}
	}
	return &runs.ResolveApprovals{
		RunID: request.RunID, Resolutions: []runs.ApprovalDecision{resolution}, MaxRuleAgeMs: maxRuleAgeMs, Actor: actor,
	}
}

// issuesOf returns why the door refused a decision. The body is already checked, so only the rule
// that the decision would create can be invalid, or one too many.
func (d approvalDecision) issuesOf(err error) []issue {
	at := "decision"
	if d.scope == scopeSession {
		at = "scope"
	}
	refused := kit.RefusalOf(err)
	if refused.Code == api.CodeTooManyRules {
		return []issue{{"custom", []any{at}, refused.Detail}}
	}
	return issuesOf(refused, func([]any) []any { return []any{at} })
}
