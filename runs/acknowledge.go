package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AcknowledgeRequest records that a person is looking at an open approval or question or snoozes it, or
// takes either back (docs/spec/v1.md#acknowledge-a-request). It decides nothing and reserves nothing.
// Other people are not notified of the request until the acknowledgement lapses. A person who snoozes
// it is not, unless nobody else is left.
//
// Reply: Existing when nothing changed. Errors: invalid_request; run_not_found; request_not_found;
// request_settled with the recorded decision.
type AcknowledgeRequest struct {
	RunID     string
	RequestID string
	Handle    string
	State     api.AcknowledgementState
	// UntilMs is as in api.AcknowledgementBody.
	UntilMs *int64
	Actor   Actor
}

// Spec implements Command.
func (c *AcknowledgeRequest) Spec() Spec {
	return Spec{Name: "AcknowledgeRequest", Actions: decides, Target: TargetNamed, Actor: c.Actor.Name, size: Size{Rows: 1, NewRows: 1}}
}

// Needs implements Command.
func (c *AcknowledgeRequest) Needs() Needs {
	needs := Needs{RunID: c.RunID, RequestIDs: validIDs(c.RequestID)}
	if refusal.ValidID(c.Handle) {
		needs.EffectID = model.EffectID(api.EffectAdvanceRequest, c.Handle)
	}
	return needs
}

func (c *AcknowledgeRequest) prepare(*Call, IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	switch {
	case c.State != api.Acknowledged && c.State != api.Snoozed && c.State != api.NotAcknowledged:
		faults.Add("/state", "must be acknowledged, snoozed or none")
	case c.State == api.NotAcknowledged && c.UntilMs != nil:
		faults.Add("/until_ms", "is only for the states acknowledged and snoozed")
	case c.State == api.Snoozed && c.UntilMs == nil:
		faults.Add("/until_ms", "is required for the state snoozed")
	}
	return faults.Err()
}

func (c *AcknowledgeRequest) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	request := w.request(run.RunID, c.RequestID)
	switch {
	case request == nil || request.Kind == model.KindClarification || request.Handle != c.Handle:
		return Reply{}, refusal.UnknownRequest(c.Handle)
	case !request.Open():
		return Reply{}, refusal.New(api.CodeRequestSettled, "request %s was already %s", request.RequestID, request.Outcome).With(request.RecordedDecision())
	}
	untilMs, err := c.until(w.nowMs)
	if err != nil {
		return Reply{}, err
	}
	counts := request.StandingAt(w.nowMs)
	of := func(a api.Acknowledgement) bool { return a.By == c.Actor.Name }
	own := slices.IndexFunc(counts, of)
	if c.unchanged(counts, own) {
		return Reply{Existing: true}, nil
	}
	counts = slices.DeleteFunc(counts, of)
	event := requestAcknowledgedEvent{
		Type: api.EventRequestAcknowledged, RequestID: request.RequestID, By: c.Actor.Name, ViaPrincipal: c.Actor.ViaPrincipal,
		Via: c.Actor.Via, State: c.State,
	}
	if c.State != api.NotAcknowledged {
		event.UntilMs = untilMs
		counts = append(counts, api.Acknowledgement{
			By: c.Actor.Name, ViaPrincipal: c.Actor.ViaPrincipal, State: c.State, AtMs: w.nowMs, UntilMs: untilMs,
		})
		counts = newest(counts)
	}
	edited := w.editRequest(request)
	edited.Acknowledgement = nil
	if len(counts) > 0 {
		edited.Acknowledgement = document.Encode(counts)
	}
	w.emit(run, api.EventRequestAcknowledged, event)
	w.saveRun(run)
	if len(edited.AcknowledgedAt(w.nowMs)) == 0 {
		w.resumeAdvance(c.Handle)
	}
	return Reply{}, nil
}

// until returns when the new state lapses.
func (c *AcknowledgeRequest) until(nowMs int64) (int64, error) {
	limit, text := int64(api.MaxAcknowledgementMs), "must be within the next 4 hours"
	if c.State == api.Snoozed {
		limit, text = api.MaxSnoozeMs, "must be within the next 7 days"
	}
	switch {
	case c.UntilMs == nil:
		return nowMs + api.DefaultAcknowledgementMs, nil
	case *c.UntilMs <= nowMs || *c.UntilMs > nowMs+limit:
		return 0, refusal.Invalid(api.Fault{Pointer: "/until_ms", Detail: text})
	}
	return *c.UntilMs, nil
}

// newest drops the oldest entries of each state beyond its limit.
func newest(list []api.Acknowledgement) []api.Acknowledgement {
	left := map[api.AcknowledgementState]int{api.Acknowledged: api.MaxAcknowledgements, api.Snoozed: api.MaxSnoozes}
	slices.Reverse(list)
	list = slices.DeleteFunc(list, func(a api.Acknowledgement) bool {
		left[a.State]--
		return left[a.State] < 0
	})
	slices.Reverse(list)
	return list
}

// unchanged reports whether the person's current state, at index own, is already as the command says. Without one, own is -1.
func (c *AcknowledgeRequest) unchanged(current []api.Acknowledgement, own int) bool {
	if own < 0 || c.State == api.NotAcknowledged {
		return own < 0 && c.State == api.NotAcknowledged
	}
	return current[own].State == c.State && (c.UntilMs == nil || *c.UntilMs == current[own].UntilMs)
}
