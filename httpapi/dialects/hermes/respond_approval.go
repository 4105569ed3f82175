package hermes

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// respondApproval decides about one approval. The order of its checks is part of the
// contract (docs/spec/hermes.md#approval-respond).
func (f *face) respondApproval(w http.ResponseWriter, r *http.Request) error {
	var body approvalBody
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	sessionID, approvalID := idOf(body.SessionID), idOf(body.ApprovalID)
	if sessionID == "" {
		return refuse(http.StatusBadRequest, textNoSession)
	}
	choice := choiceDeny
	if body.Choice != nil {
		choice = kit.Label(body.Choice)
	}
	if !validChoice(body.Choice, choice) {
		return refuse(http.StatusBadRequest, "Invalid choice: "+wire.Shown(choice))
	}
	actor, err := f.Actor(r)
	if err != nil {
		return err
	}
	approval, err := f.chosenApproval(r.Context(), sessionID, approvalID)
	switch {
	case err != nil:
	case approval == nil && approvalID == "":
		return f.Answer(w, r, http.StatusOK, chosen{OK: true, Choice: choice})
	case approval == nil:
		return f.answerStale(w, r, sessionID, choice)
	default:
		_, err = f.Store.Do(r.Context(), &runs.ResolveApprovals{
			RunID: approval.RunID, Resolutions: []runs.ApprovalDecision{resolutionOf(approval, choice)},
			MaxRuleAgeMs: f.MaxRuleAgeMs, Actor: actor,
		})
	}
	switch late := kit.LateOf(err); {
	case err == nil:
		if approvalID == "" {
			w.Header()[ApprovalIDHeader] = []string{approval.Handle}
		}
		return f.Answer(w, r, http.StatusOK, chosen{OK: true, Choice: choice})
	case late == kit.RunOver && endedUndecided(kit.RefusalOf(err).Recorded):
		return &kit.Error{Status: http.StatusConflict, Body: notRelayed{Choice: choice, Code: codeRunUnavailable, Error: textRunEnded}}
	case late == kit.RunOver, late == kit.Settled, late == kit.NoRequest, late == kit.NoRun:
		return f.answerStale(w, r, sessionID, choice)
	}
	return undecided(err, choice)
}

// undecided returns the error of a choice that was not recorded.
func undecided(err error, choice string) error {
	switch {
	case errors.Is(err, runs.ErrUnavailable), errors.Is(err, runs.ErrClosed):
		return &kit.Error{Status: http.StatusBadGateway, Cause: err, Body: notRelayed{
			Choice: choice, Relayed: true, Code: codeRelayFailed, Error: wire.ProblemOf(err).Detail,
		}}
	case refusal.CodeOf(err) == api.CodeInvalidRequest:
		// The rule that the choice stands for would hold longer than rules may.
		return refuse(http.StatusUnprocessableEntity, "The choice "+choice+" is not possible here: "+faultsOf(err))
	}
	return err
}

// validChoice reports whether a choice that was given, or none, is one that exists.
func validChoice(given api.JSON, choice string) bool {
	if given != nil && document.Kind(given) != '"' {
		return false
	}
	switch choice {
	case choiceOnce, choiceSession, choiceAlways, choiceDeny:
		return true
	}
	return false
}

// chosenApproval returns the open approval that a call is about, or nil: the one with
// the id, else the oldest. It is chosen once: should somebody else settle it first, the
// next one is never decided in its place.
func (f *face) chosenApproval(ctx context.Context, sessionID, approvalID string) (*model.Request, error) {
	if approvalID != "" {
		return f.openInSession(ctx, model.KindApproval, sessionID, approvalID)
	}
	open, err := f.OpenRequests(ctx, model.KindApproval, sessionID)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	return open[0], nil
}

// openInSession returns the open request of a session that has a handle, or nil.
func (f *face) openInSession(ctx context.Context, kind model.RequestKind, sessionID, handle string) (*model.Request, error) {
	request, err := f.OpenRequest(ctx, kind, handle)
	if request == nil || request.SessionID != sessionID {
		return nil, err
	}
	return request, nil
}

// resolutionOf keeps the scopes apart: only session and always write a rule
// (docs/spec/hermes.md#scope-of-a-choice).
func resolutionOf(approval *model.Request, choice string) runs.ApprovalDecision {
	resolution := runs.ApprovalDecision{RequestID: approval.RequestID, Behavior: api.BehaviorAllow}
	switch choice {
	case choiceDeny:
		resolution.Behavior = api.BehaviorDeny
	case choiceSession:
		resolution.Remember = api.RememberSession
	case choiceAlways:
		forEver := int64(0)
		resolution.Remember, resolution.RememberForMs = api.RememberAlways, &forEver
	}
	return resolution
}

// endedUndecided reports whether an approval was settled by the end of its run, and by
// no choice and no deadline.
func endedUndecided(recorded *api.RecordedDecision) bool {
	return recorded == nil || recorded.Outcome == api.OutcomeCancelled || recorded.Via == api.ViaRunEnded
}

// answerStale answers a choice about what is no longer open. It is cleared only when
// nothing else is open; what is open is never touched.
func (f *face) answerStale(w http.ResponseWriter, r *http.Request, sessionID, choice string) error {
	open, err := f.OpenRequests(r.Context(), model.KindApproval, sessionID)
	if err != nil {
		return undecided(err, choice)
	}
	cleared := len(open) == 0
	return f.Answer(w, r, http.StatusOK, chosen{OK: cleared, Choice: choice, StaleCleared: cleared})
}
