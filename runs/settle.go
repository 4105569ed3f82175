package runs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// settle records what became of an open request. It is written once.
func (w *work) settle(run *model.Run, request *model.Request, resolution api.Resolution) api.Resolution {
	request = w.own(request)
	resolution.RequestID = request.RequestID
	if request.Kind != model.KindClarification || resolution.ResolvedAtMs == 0 {
		resolution.ResolvedAtMs = w.nowMs
	}
	if request.Kind == model.KindApproval {
		if resolution.Outcome != api.OutcomeAllowed {
			resolution.Behavior = api.BehaviorDeny
		}
	} else if resolution.Declined == nil {
		resolution.Declined = new(bool)
	}
	run.SettledCount++
	request.Outcome = resolution.Outcome
	request.SettledNumber = run.SettledCount
	request.SettledAtMs = w.nowMs
	request.DueAtMs = 0
	request.PartialAnswers = nil
	request.Resolution = document.Encode(resolution)
	w.saveRun(run)
	return resolution
}

type approvalResolvedEvent struct {
	Type        api.EventType    `json:"type"`
	Resolutions []api.Resolution `json:"resolutions"`
}

type questionResolvedEvent struct {
	Type       api.EventType  `json:"type"`
	Resolution api.Resolution `json:"resolution"`
}

type plainEvent struct {
	Type api.EventType `json:"type"`
}

type errorEvent struct {
	Type  api.EventType `json:"type"`
	Error string        `json:"error"`
}

type reasonEvent struct {
	Type   api.EventType `json:"type"`
	Reason string        `json:"reason,omitempty"`
}

// settleAll settles several requests alike and reports each: one event for all the
// approvals, one for each question and each clarification.
func (w *work) settleAll(run *model.Run, requests []*model.Request, resolution api.Resolution) {
	var approvals []api.Resolution
	for _, request := range requests {
		if request.Kind == model.KindApproval {
			approvals = append(approvals, w.settle(run, request, resolution))
		}
	}
	if len(approvals) > 0 {
		w.emit(run, api.EventApprovalResolved, approvalResolvedEvent{api.EventApprovalResolved, approvals})
	}
	for _, request := range requests {
		if request.Kind != model.KindApproval {
			recorded := w.settle(run, request, resolution)
			w.emit(run, api.EventUserQuestionResolved, questionResolvedEvent{api.EventUserQuestionResolved, recorded})
		}
	}
}

// waitOrGoOn gives a run the status that its open requests call for. When nothing
// is open any more it runs again: under the lease of its attached holder, if that
// one lives, and otherwise for whoever claims it.
func (w *work) waitOrGoOn(run *model.Run) {
	switch {
	case w.waitsFor(run.RunID, model.KindQuestion), w.parked(run.RunID):
		if run.Status != api.StatusWaitingForUserQuestion {
			w.move(run, api.StatusWaitingForUserQuestion)
		}
	case w.waitsFor(run.RunID, model.KindApproval):
		if run.Status != api.StatusWaitingForApproval {
			w.move(run, api.StatusWaitingForApproval)
		}
	case model.Waiting(run.Status):
		w.move(run, api.StatusRunning)
		w.emit(run, api.EventStarted, plainEvent{api.EventStarted})
		run.ClaimableAtMs = w.nowMs
		if run.Attached && run.Leased(w.nowMs) {
			run.ClaimableAtMs = run.LeaseExpiresAtMs
			run.Attempt = 1
		}
	}
	w.saveRun(run)
}

// expireDue expires every open request of a run whose deadline is past
// (kheish.md 1.11): an approval is denied to the worker and the run goes on, a
// question ends the run. Each command on a run does this first, so that an answer
// that comes too late finds the request expired whether or not the sweep has been
// there.
func (w *work) expireDue(run *model.Run) {
	var due []*model.Request
	for _, request := range w.requestsOf(run.RunID) {
		if request.Open() && request.DueAtMs != 0 && request.DueAtMs <= w.nowMs {
			due = append(due, request)
		}
	}
	if len(due) == 0 {
		return
	}
	slices.SortStableFunc(due, func(a, b *model.Request) int { return cmp.Compare(a.DueAtMs, b.DueAtMs) })

	var expired []api.Resolution
	var question *model.Request
	for _, request := range due {
		if request.Kind == model.KindApproval {
			expired = append(expired, w.settle(run, request, api.Resolution{
				Outcome: api.OutcomeExpired, Reason: fmt.Sprintf("expired at %d", request.DueAtMs),
				ResolvedBy: api.ResolvedBySystem, Via: api.ViaClock,
			}))
		} else if question == nil {
			question = request
		}
	}
	if len(expired) > 0 {
		w.emit(run, api.EventApprovalResolved, approvalResolvedEvent{api.EventApprovalResolved, expired})
	}
	if question == nil {
		w.waitOrGoOn(run)
		return
	}
	dueAtMs := question.DueAtMs
	if run.Kind == api.KindParentClarification {
		w.conclude(run, question, declinedBy(api.OutcomeExpired, fmt.Sprintf("expired at %d", dueAtMs), "expired",
			Actor{Name: api.ResolvedBySystem, Via: api.ViaClock}))
		return
	}
	recorded := w.settle(run, question, api.Resolution{
		Outcome: api.OutcomeExpired, Reason: fmt.Sprintf("expired at %d", dueAtMs), ResolvedBy: api.ResolvedBySystem, Via: api.ViaClock,
	})
	w.emit(run, api.EventUserQuestionResolved, questionResolvedEvent{api.EventUserQuestionResolved, recorded})
	w.cancel(run, expiredText(question.RequestID, dueAtMs), Actor{Name: api.ResolvedBySystem, Via: api.ViaClock}, "")
}

func expiredText(requestID string, dueAtMs int64) string {
	return fmt.Sprintf("user-question request %s expired at %d", requestID, dueAtMs)
}

// cancel ends a run as cancelled. What is still open on it is recorded cancelled
// (decisions.md 10).
func (w *work) cancel(run *model.Run, text string, actor Actor, reason string) {
	w.settleAll(run, w.open(run.RunID), api.Resolution{
		Outcome: api.OutcomeCancelled, Reason: reason, ResolvedBy: actor.Name, Via: actor.Via,
	})
	run.Error = text
	w.finish(run, api.StatusCancelled, model.LeaseRevoked, api.EventCancelled, reasonEvent{api.EventCancelled, reason})
}

// holder checks that the caller holds the newest claim of a run that goes on
// (decisions.md 33). A lease that lapsed and that nobody took over still counts.
func (w *work) holder(run *model.Run, fence int64) error {
	switch {
	case fence == 0 || fence != run.Fence:
		return refusal.New(api.CodeLeaseLost, "fence %d is not the newest of run %s", fence, run.RunID)
	case run.Status == api.StatusCompleted || run.Status == api.StatusFailed:
		return refusal.New(api.CodeRunStateConflict, "run %s is already %s", run.RunID, run.Status)
	case model.Terminal(run.Status):
		return refusal.New(api.CodeLeaseLost, "run %s was %s", run.RunID, run.Status)
	case run.LeaseEnd != "":
		return refusal.New(api.CodeLeaseLost, "the lease of run %s was %s", run.RunID, run.LeaseEnd)
	}
	return nil
}

// targetRun returns the run that a worker's call is about, with everything due on
// it expired.
func (w *work) targetRun(runID string) (*model.Run, error) {
	run := w.run(runID)
	if run == nil {
		return nil, refusal.UnknownRun(runID)
	}
	w.expireDue(run)
	return run, nil
}

// checkTarget checks that the run or the session is there that a decision names,
// before its key is looked at (decisions.md 30).
func (w *work) checkTarget(sessionID, runID string) error {
	switch {
	case runID != "" && w.run(runID) == nil:
		return refusal.UnknownRun(runID)
	case w.session == nil:
		return refusal.UnknownSession(sessionID)
	}
	return nil
}

// lookUp answers a keyed call from its record: done is true when it was seen
// before. The target of the call is target, or, when that is empty, the run that
// the record names.
func (w *work) lookUp(key *model.RecordKey, target string, canonical []byte) (reply Reply, done bool, err error) {
	if key == nil {
		return Reply{}, false, nil
	}
	record, there := w.state.Records[*key]
	if !there {
		return Reply{}, false, nil
	}
	if target == "" {
		target = record.RunID
	}
	if record.Fingerprint != fingerprint(key.Operation, target, canonical) {
		return Reply{}, true, refusal.New(api.CodeIdempotencyConflict, "run operation idempotency key was reused with a different request payload")
	}
	return Reply{Replayed: true, ReplayRunID: record.RunID}, true, nil
}

// canonicalBody returns the RFC 8785 form of a body for its fingerprint. What
// cannot be written so was refused when the body was read.
func canonicalBody(body any) ([]byte, error) {
	canonical, err := document.Canonical(body)
	if err != nil {
		return nil, refusal.Invalid(api.Fault{Detail: "has no canonical JSON form"})
	}
	return canonical, nil
}

// recordKey returns the key of a keyed call, or nil for one without a key.
func recordKey(operation model.Operation, scope, key string) *model.RecordKey {
	if key == "" {
		return nil
	}
	return &model.RecordKey{Operation: operation, Scope: scope, IdempotencyKey: key}
}

// validIDs drops what cannot be the id of anything, so that a hostile text never
// reaches a database.
func validIDs(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return !refusal.ValidID(id) })
}

// prepareKey trims and checks an optional key.
func prepareKey(key *string) error {
	if *key == "" {
		return nil
	}
	checked, err := refusal.CheckIdempotencyKey(*key)
	*key = checked
	return err
}

func (a *Actor) prepare() {
	a.Name = cmp.Or(a.Name, api.DefaultActorID)
	a.Via = cmp.Or(a.Via, api.ViaAPI)
}
