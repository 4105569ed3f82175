package client_test

import (
	"context"
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// askStore is the fake as runs.Ask sees it.
type askStore struct{ *fake }

func (s askStore) Do(_ context.Context, command runs.Command) (runs.Reply, error) {
	return s.do(command)
}

func (s askStore) Run(_ context.Context, runID string) (*model.RunRecord, error) {
	record := s.record(runID)
	if record == nil {
		return nil, refusal.UnknownRun(runID)
	}
	return record, nil
}

func (s askStore) Session(_ context.Context, sessionID string) (*model.SessionRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.sessions[sessionID]
	if state == nil || state.Session == nil {
		return nil, refusal.UnknownSession(sessionID)
	}
	return &model.SessionRecord{Session: *state.Session}, nil
}

func (f *fake) askParent(w http.ResponseWriter, r *http.Request) {
	var body api.AskParentBody
	if !decodeBody(w, r, &body) {
		return
	}
	fence, _ := strconv.ParseInt(*body.Fence, 10, 64)
	asked, err := runs.Ask(r.Context(), askStore{f}, &runs.AskClarification{
		RunID: r.PathValue("run_id"), Fence: fence, Request: body.Request, Park: body.Park, Checkpoint: body.Checkpoint,
	})
	if err != nil {
		answer(w, 0, nil, err)
		return
	}
	answer(w, 202, api.AskParentReply{Clarification: asked.Clarification.View(), Run: asked.Run.View()}, nil)
}
