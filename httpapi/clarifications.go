package httpapi

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

type askParentBody struct {
	fenced
	Request             *api.UserQuestionRequest `json:"request"`
	Park                bool                     `json:"park"`
	Checkpoint          api.JSON                 `json:"checkpoint"`
	RequesterProjectIDs []string                 `json:"requester_project_ids"`
	RequesterChannelIDs []string                 `json:"requester_channel_ids"`
	ParentProjectIDs    []string                 `json:"parent_project_ids"`
	ParentChannelIDs    []string                 `json:"parent_channel_ids"`
}

type askParentReply struct {
	Clarification api.RunView `json:"clarification"`
	Run           api.RunView `json:"run"`
}

// askParent lets a child's run ask its parent's session, and answers once the
// question stands there.
func (s *Server) askParent(w http.ResponseWriter, r *http.Request) error {
	var body askParentBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	fence := wrong.fence(body.Fence)
	if body.Request == nil {
		wrong.add("/request", "is required")
	}
	if err := wrong.err(); err != nil {
		return err
	}
	command := &runs.AskClarification{
		RunID: wire.PathID(r, "run_id"), Fence: fence, Request: *body.Request,
		Park: body.Park, Checkpoint: body.Checkpoint,
		RequesterProjectIDs: body.RequesterProjectIDs, RequesterChannelIDs: body.RequesterChannelIDs,
		ParentProjectIDs: body.ParentProjectIDs, ParentChannelIDs: body.ParentChannelIDs,
	}
	// runs.Ask looks for the run first; what is wrong with the body comes before that.
	// The copy is spent on it, because a command is prepared once.
	checked := *command
	if err := schemaErrorOf(&checked); err != nil {
		return err
	}
	if !refusal.ValidID(command.RunID) {
		return refusal.UnknownRun(wire.Shown(command.RunID))
	}
	asked, err := runs.Ask(r.Context(), s.store, command)
	if err != nil {
		return err
	}
	clarification, err := s.ran(r.Context(), &runs.Reply{Run: asked.Clarification})
	if err != nil {
		return err
	}
	run, err := s.ran(r.Context(), &runs.Reply{Run: asked.Run})
	if err != nil {
		return err
	}
	locateRun(w, clarification.Run.RunID)
	return wire.Respond(w, r, http.StatusAccepted, askParentReply{Clarification: clarification.View(), Run: run.View()})
}
