package decide

import (
	"cmp"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// acknowledgeRequest records whether the caller is looking at an open request or snoozes it, and answers
// with the request.
func (h *handlers) acknowledgeRequest(w http.ResponseWriter, r *http.Request) error {
	var body api.AcknowledgementBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.AcknowledgeRequest{Handle: wire.PathID(r, "handle"), State: body.State, UntilMs: body.UntilMs}
	checked := *command
	err := cmp.Or(kit.AllFaults(r.Context(), &faults, command), kit.BodyFaults(r.Context(), &checked))
	if err != nil {
		return err
	}
	if command.Actor, err = wire.Actor(r); err != nil {
		return err
	}
	if !refusal.ValidID(command.Handle) {
		return refusal.UnknownRequest(wire.Shown(command.Handle))
	}
	found, err := h.Store.Reader(r.Context()).DecisionByHandle(r.Context(), command.Handle)
	if err != nil {
		return err
	}
	command.RunID, command.RequestID = found.Request.RunID, found.Request.RequestID
	if _, err := h.Store.Do(r.Context(), command); err != nil {
		return err
	}
	if found, err = h.Store.Reader(r.Context()).DecisionByHandle(r.Context(), command.Handle); err != nil {
		return err
	}
	view, err := h.viewOf(r, found)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, view)
}
