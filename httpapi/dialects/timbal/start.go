package timbal

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// start makes a run, and returns its first segment. The session is new, or that of the run
// which it goes on from.
func (f *face) start(ctx context.Context, given *call, from *conversation, agentID, key string, actor runs.Actor) (s *segment, record *model.RunRecord, replayed bool, err error) {
	if given.runID != "" && !refusal.ValidID(given.runID) {
		return nil, nil, false, unprocessable("context.id must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
	}
	input, err := f.withHistory(ctx, given.params, from)
	if err != nil {
		return nil, nil, false, err
	}
	command := &runs.CreateRun{
		SessionID: from.sessionID, RunID: given.runID, Input: input, CallersInput: given.params, AgentID: agentID,
		Inline: from.paused != nil, SourcePlugin: Via, ActorID: actor.Name, Key: key, Caller: actor.Name,
	}
	if refusal.ValidID(given.parentID) {
		command.ParentRunID = given.parentID
	} else if parent, ok := splitID(given.parentID); ok {
		command.ParentRunID = parent.runID // an id that /v1 knows
	}
	reply, err := f.Store.Do(ctx, command)
	switch {
	case refusal.CodeOf(err) == api.CodeIDConflict, err == nil && reply.Existing && !reply.Replayed:
		return nil, nil, false, f.idInUse(ctx, given.runID)
	case err != nil:
		return nil, nil, false, err
	}
	record = reply.Run
	if record == nil {
		if record, err = f.Store.Run(ctx, reply.ReplayRunID); err != nil {
			return nil, nil, false, err
		}
	}
	return segmentOf(segmentID{runID: record.Run.RunID}, record), record, reply.Replayed, nil
}

// segmentOf returns the segment of a whole run, from its beginning.
func segmentOf(id segmentID, record *model.RunRecord) *segment {
	s := &segment{id: id, parentID: record.Run.ParentRunID, agentID: record.Run.AgentID, log: newHistory()}
	s.begin()
	return s
}

// idInUse refuses an id that another run has. A run's id is used once, also when the run
// is terminal.
func (f *face) idInUse(ctx context.Context, runID string) error {
	record, err := f.Store.Run(ctx, runID)
	if err != nil {
		return err
	}
	if model.Terminal(record.Run.Status) {
		return refuse(http.StatusConflict, "Run id '%s' was used by a run that is over, and an id is used once.", runID)
	}
	return refuse(http.StatusConflict, "Run id '%s' is already in use by a running run.", runID)
}
