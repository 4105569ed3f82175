package work

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// askParent asks the parent's session for a child's run, and answers once the question is open
// there.
func (h *Handlers) askParent(w http.ResponseWriter, r *http.Request) error {
	var body api.AskParentBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.AskClarification{
		RunID: wire.PathID(r, "run_id"), Fence: kit.RequiredFence(&faults, body.Fence), Request: body.Request,
		Park: body.Park, Checkpoint: body.Checkpoint,
		RequesterProjectIDs: body.RequesterProjectIDs, RequesterChannelIDs: body.RequesterChannelIDs,
		ParentProjectIDs: body.ParentProjectIDs, ParentChannelIDs: body.ParentChannelIDs,
	}
	if err := kit.AllFaults(r.Context(), &faults, command); err != nil {
		return err
	}
	// Report faults of the body before runs.Ask looks the run up. Check a copy, because a command
	// is prepared only once.
	checked := *command
	if err := kit.BodyFaults(r.Context(), &checked); err != nil {
		return err
	}
	if err := kit.CheckRunID(r.Context(), command.RunID, command); err != nil {
		return err
	}
	asked, err := runs.Ask(r.Context(), asking{h.Store, h.Unscoped}, command)
	if err != nil {
		return err
	}
	clarification, err := h.RunOf(r.Context(), &runs.Reply{Run: asked.Clarification}, "")
	if err != nil {
		return err
	}
	run, err := h.RunOf(r.Context(), &runs.Reply{Run: asked.Run}, "")
	if err != nil {
		return err
	}
	wire.Locate(w, "/v1/runs/", clarification.Run.RunID)
	status := http.StatusAccepted
	if asked.Existing {
		status = http.StatusOK
	}
	return wire.Respond(w, r, status, api.AskParentReply{Clarification: clarification.View(), Run: run.View()})
}

// asking is the store of [runs.Ask]. The caller's permission is checked with the command, and the
// parent was checked when the session was created. Both may be outside of the scope of a caller
// that holds a run there.
type asking struct {
	runs.Door
	reads.Reader
}
