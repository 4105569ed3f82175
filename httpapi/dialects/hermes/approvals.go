package hermes

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ApprovalIDHeader names the approval that a call without an approval_id has decided.
const ApprovalIDHeader = "X-Approval-Id"

// The choices (hermes.md 2.5).
const (
	choiceOnce    = "once"
	choiceSession = "session"
	choiceAlways  = "always"
	choiceDeny    = "deny"
)

// Codes of an answer that did not reach the run.
const (
	codeRunUnavailable = "gateway_run_unavailable"
	codeRelayFailed    = "gateway_approval_relay_failed"
)

// pendingApproval is a PendingApproval (hermes.md 2.2).
type pendingApproval struct {
	ApprovalID  string `json:"approval_id"`
	Command     string `json:"command"`
	Description string `json:"description"`
	// PatternKey is null when there are no keys.
	PatternKey  *string  `json:"pattern_key"`
	PatternKeys []string `json:"pattern_keys"`
}

// approvalOf puts an approval into the words of the dialect (decisions.md 21).
func approvalOf(request *model.Request) *pendingApproval {
	asked := request.Approval()
	shown := &pendingApproval{
		ApprovalID: request.Handle, Command: commandOf(asked.Input),
		Description: asked.Description, PatternKeys: asked.PatternKeys,
	}
	if shown.Description == "" {
		shown.Description = asked.Reason
	}
	if len(asked.PatternKeys) > 0 {
		shown.PatternKey = &asked.PatternKeys[0]
	} else {
		shown.PatternKeys = []string{}
	}
	return shown
}

// commandOf returns the command of an input when it is text, else the whole input in
// its compact form.
func commandOf(input api.JSON) string {
	var call struct {
		Command api.JSON `json:"command"`
	}
	if document.Kind(input) == '{' && json.Unmarshal(input, &call) == nil && document.Kind(call.Command) == '"' {
		return textOf(call.Command)
	}
	return compact(input)
}

func (f *face) pendingApproval(w http.ResponseWriter, r *http.Request) {
	shown, err := approvalQueue.pending(r.Context(), f.services.Store, sessionOf(r))
	if err != nil {
		f.fail(w, r, err)
		return
	}
	respond(w, r, http.StatusOK, shown)
}

// chosen is the reply to a choice.
type chosen struct {
	OK           bool   `json:"ok"`
	Choice       string `json:"choice"`
	StaleCleared bool   `json:"stale_cleared,omitzero"`
}

// notRelayed is the reply to a choice that did not reach the run.
type notRelayed struct {
	OK      bool   `json:"ok"`
	Choice  string `json:"choice"`
	Relayed bool   `json:"relayed"`
	Code    string `json:"code"`
	Error   string `json:"error"`
}

// respondApproval checks in the order of hermes.md 2.5.
func (f *face) respondApproval(w http.ResponseWriter, r *http.Request) {
	var body approvalBody
	if err := readBody(w, r, &body); err != nil {
		f.fail(w, r, err)
		return
	}
	sessionID := idOf(body.SessionID)
	if sessionID == "" {
		refuse(w, r, http.StatusBadRequest, "session_id is required")
		return
	}
	choice := choiceDeny
	if body.Choice != nil {
		choice = shownText(body.Choice)
	}
	if !validChoice(body.Choice, choice) {
		refuse(w, r, http.StatusBadRequest, "Invalid choice: "+wire.Shown(choice))
		return
	}
	who, err := actor(r)
	if err != nil {
		f.fail(w, r, err)
		return
	}
	reply, err := f.choose(r.Context(), w.Header(), sessionID, idOf(body.ApprovalID), choice, who)
	switch {
	case err == nil:
		respond(w, r, http.StatusOK, reply)
	case errors.Is(err, errRunOver):
		respond(w, r, http.StatusConflict, notRelayed{
			Choice: choice, Code: codeRunUnavailable, Error: "The run has ended; there is nothing left to approve.",
		})
	case errors.Is(err, runs.ErrUnavailable), errors.Is(err, runs.ErrClosed):
		f.report(r, http.StatusBadGateway, err)
		respond(w, r, http.StatusBadGateway, notRelayed{
			Choice: choice, Relayed: true, Code: codeRelayFailed, Error: wire.ProblemOf(err).Detail,
		})
	case refusal.CodeOf(err) == api.CodeInvalidRequest:
		// The rule that the choice stands for may not be written (decisions.md 19).
		refuse(w, r, http.StatusUnprocessableEntity, "The choice "+choice+" is not possible here: "+faultsOf(err))
	default:
		f.fail(w, r, err)
	}
}

// validChoice reports whether a choice that was given, or none, is one that there is.
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

// errRunOver: the run ended after its approval was looked up as open.
var errRunOver = errors.New("the run is over")

// choose decides one approval: the one with the id, or the oldest. The one that was
// oldest when the call came is meant: should somebody else be faster, the next one is
// never decided in its place (decisions.md 9).
func (f *face) choose(ctx context.Context, header http.Header, sessionID, approvalID, choice string, who runs.Actor) (chosen, error) {
	target, err := f.approvalMeant(ctx, sessionID, approvalID)
	switch {
	case err != nil:
		return chosen{}, err
	case target == nil && approvalID == "":
		return chosen{OK: true, Choice: choice}, nil
	case target == nil:
		return f.stale(ctx, sessionID, choice)
	}
	_, err = f.services.Store.Do(ctx, &runs.ResolveApprovals{
		RunID: target.RunID, Resolutions: []runs.ApprovalDecision{resolutionOf(target, choice)},
		MaxRuleAgeMs: f.services.MaxRuleAgeMs, Actor: who,
	})
	if err == nil {
		if approvalID == "" {
			header[ApprovalIDHeader] = []string{target.Handle}
		}
		return chosen{OK: true, Choice: choice}, nil
	}
	var refused *refusal.Error
	if !errors.As(err, &refused) {
		return chosen{}, err
	}
	switch refused.Code {
	case api.CodeRunStateConflict:
		if endedUnderway(refused.Recorded) {
			return chosen{}, errRunOver
		}
		return f.stale(ctx, sessionID, choice)
	case api.CodeApprovalNotPending, api.CodeApprovalStateConflict, api.CodeRunNotFound, api.CodeRequestNotFound:
		return f.stale(ctx, sessionID, choice)
	}
	return chosen{}, err
}

// approvalMeant returns the open approval that a call is about, or nil.
func (f *face) approvalMeant(ctx context.Context, sessionID, approvalID string) (*model.Request, error) {
	if approvalID != "" {
		return openRequest(ctx, f.services.Store, model.KindApproval, sessionID, approvalID)
	}
	open, err := openRequests(ctx, f.services.Store, model.KindApproval, sessionID)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	return &open[0].Request, nil
}

// resolutionOf keeps the scopes strictly apart: once writes no rule (hermes.md 2.7).
func resolutionOf(target *model.Request, choice string) runs.ApprovalDecision {
	resolution := runs.ApprovalDecision{RequestID: target.RequestID, Behavior: api.BehaviorDeny}
	switch choice {
	case choiceOnce:
		resolution.Behavior = api.BehaviorAllow
	case choiceSession:
		resolution.Behavior, resolution.Remember = api.BehaviorAllow, api.RememberSession
	case choiceAlways:
		forEver := int64(0)
		resolution.Behavior, resolution.Remember, resolution.RememberForMs = api.BehaviorAllow, api.RememberAlways, &forEver
	}
	return resolution
}

// endedUnderway reports whether an approval was settled by the end of its run, and by
// nobody's choice and no deadline.
func endedUnderway(recorded *api.RecordedDecision) bool {
	if recorded == nil {
		return true
	}
	return recorded.Outcome == api.OutcomeCancelled || recorded.Via == api.ViaRunEnded
}

// stale answers a click on what is no longer open. Only when nothing else is open is
// it cleared: the other one is never touched.
func (f *face) stale(ctx context.Context, sessionID, choice string) (chosen, error) {
	open, err := openRequests(ctx, f.services.Store, model.KindApproval, sessionID)
	if err != nil {
		return chosen{}, err
	}
	cleared := len(open) == 0
	return chosen{OK: cleared, Choice: choice, StaleCleared: cleared}, nil
}
