package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AcknowledgeRequest records that a person is looking at an open approval or question, or takes it
// back (docs/spec/v1.md#acknowledge-a-request). It decides nothing and reserves nothing. Other people
// are not notified of the request until the acknowledgement lapses.
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
	return Spec{Name: "AcknowledgeRequest", Actions: decides, Target: TargetNamed, Actor: c.Actor.Name, Size: Size{Rows: 1, NewRows: 1}}
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
	case c.State != api.Acknowledged && c.State != api.NotAcknowledged:
		faults.Add("/state", "must be acknowledged or none")
	case c.State == api.NotAcknowledged && c.UntilMs != nil:
		faults.Add("/until_ms", "is only for the state acknowledged")
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
	untilMs := w.nowMs + api.DefaultAcknowledgementMs
	if c.UntilMs != nil {
		if untilMs = *c.UntilMs; untilMs <= w.nowMs || untilMs > w.nowMs+api.MaxAcknowledgementMs {
			return Reply{}, refusal.Invalid(api.Fault{Pointer: "/until_ms", Detail: "must be within the next 4 hours"})
		}
	}
	counts := request.AcknowledgedAt(w.nowMs)
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
	if c.State == api.Acknowledged {
		event.UntilMs = untilMs
		counts = append(counts, api.Acknowledgement{
			By: c.Actor.Name, ViaPrincipal: c.Actor.ViaPrincipal, State: api.Acknowledged, AtMs: w.nowMs, UntilMs: untilMs,
		})
		counts = counts[max(len(counts)-api.MaxAcknowledgements, 0):]
	}
	edited := w.editRequest(request)
	edited.Acknowledgement = nil
	if len(counts) > 0 {
		edited.Acknowledgement = document.Encode(counts)
	}
	w.emit(run, api.EventRequestAcknowledged, event)
	w.saveRun(run)
	if len(counts) == 0 {
		w.resumeAdvance(c.Handle)
	}
	return Reply{}, nil
}

// unchanged reports whether the person's current acknowledgement, at index own, is already as the
// command says. Without one, own is -1.
func (c *AcknowledgeRequest) unchanged(current []api.Acknowledgement, own int) bool {
	if own < 0 || c.State == api.NotAcknowledged {
		return own < 0 && c.State == api.NotAcknowledged
	}
	return c.UntilMs == nil || *c.UntilMs == current[own].UntilMs
}
