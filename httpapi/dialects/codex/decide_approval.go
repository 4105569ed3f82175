package codex

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// approvalReply is the body of every reply to a decision about an approval but the
// refusals of what was sent.
type approvalReply struct {
	Status     string `json:"status"`
	ApprovalID string `json:"approvalId"`
	ThreadID   string `json:"threadId,omitempty"`
}

func approvalNotFound(approvalID string) *faceError {
	return &faceError{status: http.StatusNotFound, body: approvalReply{Status: statusNotFound, ApprovalID: wire.Shown(approvalID)}}
}

type approvalBody struct {
	Decision api.JSON `json:"decision"`
	Scope    api.JSON `json:"scope"`
}

// approvalDecision is a decision as somebody sent it.
type approvalDecision struct{ decision, scope string }

func (b *approvalBody) check() (approvalDecision, error) {
	given := approvalDecision{scope: scopeTurn}
	var issues []issue
	var fault *issue
	if given.decision, fault = choose(b.Decision, "decision", accept, decline, cancel); fault != nil {
		issues = append(issues, *fault)
	}
	if b.Scope != nil {
		if given.scope, fault = choose(b.Scope, "scope", scopeTurn, scopeSession); fault != nil {
			issues = append(issues, *fault)
		}
	}
	if issues != nil {
		return given, invalid(issues...)
	}
	return given, nil
}

// decideApproval decides about an approval (codex.md 3.4). Whoever comes too late gets
// 404, whatever it was that came before, and whether it is a person or a machine.
func (f *face) decideApproval(w http.ResponseWriter, r *http.Request) error {
	var body approvalBody
	if err := f.decode(w, r, &body); err != nil {
		return err
	}
	given, err := body.check()
	if err != nil {
		return err
	}
	actor, err := actorOf(r)
	if err != nil {
		return err
	}
	approvalID := wire.PathID(r, "approvalId")
	request, err := f.openRequest(r.Context(), approvalID, model.KindApproval)
	if err == nil && request != nil {
		_, err = f.Store.Do(r.Context(), given.command(request, actor, f.MaxRuleAgeMs))
	}
	switch {
	case err == nil && request != nil:
		return wire.Respond(w, r, http.StatusOK, approvalReply{statusOK, approvalID, request.SessionID})
	case err == nil || tooLate(err):
		return approvalNotFound(approvalID)
	case refusal.CodeOf(err) == api.CodeInvalidRequest:
		return invalid(given.issuesOf(err)...)
	}
	return &faceError{status: http.StatusInternalServerError, cause: err, body: approvalReply{Status: statusError, ApprovalID: approvalID}}
}

// command is what a decision does, together with what the runtime is told of it.
func (d approvalDecision) command(request *model.Request, actor runs.Actor, maxRuleAgeMs int64) runs.Command {
	approval := request.Approval()
	payload := decisionPayload(approvalMethod(&approval), d.decision, d.scope)
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

// issuesOf tells why the domain did not take a decision. What can be wrong with one that
// passed the check is the rule that it would write.
func (d approvalDecision) issuesOf(err error) []issue {
	at := "decision"
	if d.scope == scopeSession {
		at = "scope"
	}
	return issuesOf(domainError(err), func([]any) []any { return []any{at} })
}

// openRequest returns the open request of a kind that has a handle, and nil when there
// is none. It only finds the run: whether the request is still open is decided at the
// door.
func (f *face) openRequest(ctx context.Context, handle string, kind model.RequestKind) (*model.Request, error) {
	if !refusal.ValidID(handle) {
		return nil, nil
	}
	found, err := f.Store.RequestByHandle(ctx, handle)
	if refusal.CodeOf(err) == api.CodeRequestNotFound {
		return nil, nil
	}
	if err != nil || found.Request.Kind != kind || !found.Request.Open() {
		return nil, err
	}
	return &found.Request, nil
}

// tooLate reports whether a refusal means that there is nothing to decide any more.
func tooLate(err error) bool {
	switch refusal.CodeOf(err) {
	case api.CodeRunNotFound, api.CodeRequestNotFound, api.CodeSessionNotFound, api.CodeSessionEnded, api.CodeRunStateConflict,
		api.CodeApprovalStateConflict, api.CodeApprovalNotPending,
		api.CodeQuestionStateConflict, api.CodeQuestionExpired, api.CodeQuestionRequestMismatch, api.CodeQuestionResolutionConflict:
		return true
	}
	return false
}

// actorOf returns who decides.
func actorOf(r *http.Request) (runs.Actor, error) {
	actor, err := wire.Actor(r.Header)
	actor.Via = Via
	return actor, err
}
