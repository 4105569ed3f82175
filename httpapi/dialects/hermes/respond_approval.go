package hermes

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// approvalCall is a call to decide an approval.
type approvalCall struct {
	sessionID, choice string
	// approvalID and runID are empty when not given.
	approvalID, runID string
	// yolo says that the caller used that name of the setting.
	yolo bool
}

// callOf reads a body. Errors: 400 and 413 (docs/spec/hermes.md#approval-respond).
func callOf(w http.ResponseWriter, r *http.Request) (*approvalCall, error) {
	var body approvalBody
	var call *approvalCall
	err := readBody(w, r, &body, func() (err error) {
		call, err = body.call()
		return err
	})
	return call, err
}

// call checks the members of a body.
func (b *approvalBody) call() (*approvalCall, error) {
	call := &approvalCall{
		sessionID: idOf(b.SessionID), choice: choiceDeny,
		approvalID: idOf(b.ApprovalID), runID: idOf(b.RunID), yolo: document.Kind(b.Yolo) == 't',
	}
	if call.sessionID == "" {
		return nil, refuse(http.StatusBadRequest, textNoSession)
	}
	if b.Choice != nil {
		call.choice = kit.Label(b.Choice)
	}
	if !validChoice(b.Choice, call.choice) {
		return nil, refuse(http.StatusBadRequest, "Invalid choice: "+wire.Shown(call.choice))
	}
	if edit := b.Given(); edit != "" && call.choice != choiceDeny {
		return nil, refuse(http.StatusBadRequest, edit+": "+kit.TextNoEdit)
	}
	if call.approvalID == "" {
		if name := otherID(b.Unnamed); name != "" {
			return nil, refuseOtherID(name, "approval_id")
		}
	}
	return call, nil
}

// respondApproval decides one approval, or all of a session. The order of its checks is part of the
// contract (docs/spec/hermes.md#approval-respond).
func (f *face) respondApproval(w http.ResponseWriter, r *http.Request) error {
	call, err := callOf(w, r)
	if err != nil {
		return err
	}
	actor, err := f.Actor(r)
	if err != nil {
		return err
	}
	approval, err := f.chosenApproval(r.Context(), call)
	switch {
	case err != nil:
		return call.undecided(err)
	case approval == nil && call.runID != "":
		return call.unavailable()
	case approval == nil && call.approvalID == "":
		return f.Answer(w, r, http.StatusOK, call.chosen())
	case approval == nil:
		return f.answerStale(w, r, call)
	case call.yolo && call.choice == choiceOnce:
		return f.drain(w, r, call, approval, actor)
	}
	switch err := f.decide(r.Context(), call, []*model.Request{approval}, actor); {
	case err == nil:
		if call.approvalID == "" {
			w.Header()[ApprovalIDHeader] = []string{approval.Handle}
		}
		return f.Answer(w, r, http.StatusOK, call.chosen())
	default:
		return f.answerLate(w, r, call, err)
	}
}

// decide records the choice for open approvals of one run, all or none.
func (f *face) decide(ctx context.Context, call *approvalCall, approvals []*model.Request, actor runs.Actor) error {
	resolutions := make([]runs.ApprovalDecision, len(approvals))
	for i, approval := range approvals {
		resolutions[i] = resolutionOf(approval, call.choice)
	}
	_, err := f.Store.Do(ctx, &runs.ResolveApprovals{
		RunID: approvals[0].RunID, Resolutions: resolutions, MaxRuleAgeMs: f.MaxRuleAgeMs, Actor: actor,
	})
	return err
}

// answerLate answers a choice that the door refused.
func (f *face) answerLate(w http.ResponseWriter, r *http.Request, call *approvalCall, err error) error {
	switch late := kit.LateOf(err); {
	case late == kit.RunOver && endedUndecided(kit.RefusalOf(err).Recorded):
		return call.unavailable()
	case late == kit.RunOver, late == kit.Settled, late == kit.NoRequest, late == kit.NoRun:
		return f.answerStale(w, r, call)
	}
	return call.undecided(err)
}

// drain allows every approval that is open now in the session, or in the run that the caller named, once:
// in one decision per run, beginning with the chosen one's. A run that is decided or has ended meanwhile, or
// that this caller may not decide, is skipped, unless the caller named its approval. What is raised while it
// retries was not there when the person clicked.
func (f *face) drain(w http.ResponseWriter, r *http.Request, call *approvalCall, chosen *model.Request, actor runs.Actor) error {
	open, err := f.openOfRun(r.Context(), call.sessionID, call.runID)
	if err != nil {
		return call.undecided(err)
	}
	runIDs, ofRun := []string{chosen.RunID}, map[string][]*model.Request{chosen.RunID: nil}
	for _, request := range open {
		if _, known := ofRun[request.RunID]; !known {
			runIDs = append(runIDs, request.RunID)
		}
		ofRun[request.RunID] = append(ofRun[request.RunID], request)
	}
	if call.approvalID != "" && !holds(open, chosen) {
		return f.answerStale(w, r, call)
	}
	reply := call.chosen()
	var late error // the refusal of the chosen one's run
	for i, runID := range runIDs {
		count, err := f.drainRun(r.Context(), call, ofRun[runID], chosen, actor)
		switch {
		case err != nil && kit.RefusalOf(err) == nil && reply.ResolvedCount == 0:
			return call.undecided(err)
		case err != nil && kit.RefusalOf(err) == nil:
			// The rest stays open, and the click has been taken.
			f.Report(r, err)
			return f.Answer(w, r, http.StatusOK, reply)
		case i == 0 && count == 0:
			if late = err; call.approvalID != "" {
				return f.answerUndrained(w, r, call, late)
			}
		}
		reply.ResolvedCount += count
	}
	if reply.ResolvedCount == 0 {
		return f.answerUndrained(w, r, call, late)
	}
	return f.Answer(w, r, http.StatusOK, reply)
}

// answerUndrained answers a drain that allowed nothing. late is the door's refusal, nil if all was settled
// before.
func (f *face) answerUndrained(w http.ResponseWriter, r *http.Request, call *approvalCall, late error) error {
	if late == nil {
		return f.answerStale(w, r, call)
	}
	return f.answerLate(w, r, call, late)
}

// maxDrains is how often a run's drain is retried after another caller decided one of its approvals.
const maxDrains = 20

// drainRun allows open approvals of one run, except those that another caller decides meanwhile, and
// returns how many. It allows none if the caller named the chosen one and that was settled meanwhile.
func (f *face) drainRun(ctx context.Context, call *approvalCall, open []*model.Request, chosen *model.Request, actor runs.Actor) (int, error) {
	named := call.approvalID != "" && holds(open, chosen)
	var err error
	for range maxDrains {
		if len(open) == 0 || named && !holds(open, chosen) {
			return 0, nil
		}
		if err = f.decide(ctx, call, open, actor); err == nil {
			return len(open), nil
		}
		if kit.LateOf(err) != kit.Settled {
			break
		}
		still, readErr := f.openOfRun(ctx, call.sessionID, open[0].RunID)
		if readErr != nil {
			return 0, readErr
		}
		open = slices.DeleteFunc(open, func(request *model.Request) bool { return !holds(still, request) })
	}
	return 0, err
}

// openOfRun returns the open approvals of a run in a session or below it, or of all runs there without one.
func (f *face) openOfRun(ctx context.Context, sessionID, runID string) ([]*model.Request, error) {
	var open []*model.Request
	err := f.EachOpen(ctx, model.KindApproval, sessionID, runID, func(q *model.Request) {
		// Without its body: there may be thousands.
		open = append(open, &model.Request{SessionID: q.SessionID, RunID: q.RunID, RequestID: q.RequestID, Handle: q.Handle})
	})
	return open, err
}

// holds reports whether a list has a request.
func holds(list []*model.Request, wanted *model.Request) bool {
	return slices.ContainsFunc(list, func(request *model.Request) bool { return request.Handle == wanted.Handle })
}

// yoloEnabled is the setting in replies: it is never on. Nil when the caller did not ask.
func (c *approvalCall) yoloEnabled() *bool {
	if !c.yolo {
		return nil
	}
	return new(bool)
}

func (c *approvalCall) chosen() chosen {
	return chosen{OK: true, Choice: c.choice, YoloEnabled: c.yoloEnabled()}
}

// unavailable refuses a choice for a run without an open approval.
func (c *approvalCall) unavailable() error {
	return &kit.Error{Status: http.StatusConflict, Body: notRelayed{
		Choice: c.choice, Code: codeRunUnavailable, Error: textRunEnded, YoloEnabled: c.yoloEnabled(),
	}}
}

// undecided returns the error of a choice that was not recorded.
func (c *approvalCall) undecided(err error) error {
	switch {
	case errors.Is(err, runs.ErrUnavailable), errors.Is(err, runs.ErrClosed):
		return &kit.Error{Status: http.StatusBadGateway, Cause: err, Body: notRelayed{
			Choice: c.choice, Relayed: true, Code: codeRelayFailed, Error: wire.ProblemOf(err).Detail, YoloEnabled: c.yoloEnabled(),
		}}
	case refusal.CodeOf(err) == api.CodeInvalidRequest:
		// The rule for this choice would exceed the longest allowed lifetime.
		return refuse(http.StatusUnprocessableEntity, "The choice "+c.choice+" is not possible here: "+faultsOf(err))
	}
	return err
}

// validChoice reports whether a choice is valid. An absent one is.
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

// chosenApproval returns the open approval that a call is about, or nil: the one with the id,
// otherwise the oldest, limited to the run if given. If another caller settles it first, the next
// one is never decided in its place.
func (f *face) chosenApproval(ctx context.Context, call *approvalCall) (*model.Request, error) {
	if call.approvalID != "" {
		request, err := f.OpenInSession(ctx, model.KindApproval, call.sessionID, call.approvalID)
		if request == nil || call.runID != "" && request.RunID != call.runID {
			return nil, err
		}
		return request, nil
	}
	return f.OldestRequest(ctx, model.KindApproval, call.sessionID, call.runID)
}

// resolutionOf separates the scopes: only session and always create a rule
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

// endedUndecided reports whether an approval was settled by the end of its run, not by a choice or
// its deadline.
func endedUndecided(recorded *api.RecordedDecision) bool {
	return recorded == nil || recorded.Outcome == api.OutcomeCancelled || recorded.Via == api.ViaRunEnded
}

// answerStale answers a choice about a settled approval. The caller may clear it
// only when nothing else is open. Open approvals are never touched.
func (f *face) answerStale(w http.ResponseWriter, r *http.Request, call *approvalCall) error {
	open, err := f.CountOpen(r.Context(), model.KindApproval, call.sessionID)
	if err != nil {
		return call.undecided(err)
	}
	reply := call.chosen()
	reply.OK = open == 0
	reply.StaleCleared = reply.OK
	return f.Answer(w, r, http.StatusOK, reply)
}
