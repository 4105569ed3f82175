package httpapi

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// askParent lets a child's run ask its parent's session, and answers once the question
// is open there.
func (s *Server) askParent(w http.ResponseWriter, r *http.Request) error {
	var body api.AskParentBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var faults refusal.Faults
	fence := requiredFence(&faults, body.Fence)
	if body.Request == nil {
		faults.Add("/request", "is required")
	}
	if err := faults.Err(); err != nil {
		return err
	}
	command := &runs.AskClarification{
		RunID: wire.PathID(r, "run_id"), Fence: fence, Request: *body.Request,
		Park: body.Park, Checkpoint: body.Checkpoint,
		RequesterProjectIDs: body.RequesterProjectIDs, RequesterChannelIDs: body.RequesterChannelIDs,
		ParentProjectIDs: body.ParentProjectIDs, ParentChannelIDs: body.ParentChannelIDs,
	}
	// runs.Ask looks the run up first, and the faults of the body come before that. They
	// are looked for in a copy, because a command is prepared once.
	checked := *command
	if err := bodyFaults(&checked); err != nil {
		return err
	}
	if err := checkRunID(command.RunID, command); err != nil {
		return err
	}
	asked, err := runs.Ask(r.Context(), s.store, command)
	if err != nil {
		return err
	}
	clarification, err := s.runOf(r.Context(), &runs.Reply{Run: asked.Clarification}, "")
	if err != nil {
		return err
	}
	run, err := s.runOf(r.Context(), &runs.Reply{Run: asked.Run}, "")
	if err != nil {
		return err
	}
	locate(w, "/v1/runs/", clarification.Run.RunID)
	return wire.Respond(w, r, http.StatusAccepted, api.AskParentReply{Clarification: clarification.View(), Run: run.View()})
}
