package timbal

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// start creates a run and returns its first segment. Its session is the parent's, or a new one.
func (f *face) start(ctx context.Context, given *call, from *conversation, agentID, key string, actor runs.Actor) (s *segment, record *model.RunRecord, replayed bool, err error) {
	if given.runID != "" && !refusal.ValidID(given.runID) {
		return nil, nil, false, badContextID()
	}
	input, err := f.withHistory(ctx, given.params, from)
	if err != nil {
		return nil, nil, false, err
	}
	command := &runs.CreateRun{
		SessionID: from.sessionID, RunID: given.runID, Input: input, CallersInput: given.params, AgentID: agentID,
		Inline: from.paused != nil, SourcePlugin: Via, ActorID: actor.Name, Key: key, Caller: actor.Name,
	}
	// /v1 shows a parent only if it is an existing run.
	if from.found != "" {
		command.ParentRunID = from.found
	} else if refusal.ValidID(given.parentID) {
		command.ParentRunID = given.parentID
	} else if parent, ok := splitID(given.parentID); ok {
		command.ParentRunID = parent.runID
	}
	reply, err := f.Store.Do(ctx, command)
	switch {
	case refusal.CodeOf(err) == api.CodeIDConflict && from.paused != nil:
		return nil, nil, false, err // the same message may already have been answered with the pause
	case refusal.CodeOf(err) == api.CodeIDConflict, err == nil && reply.Existing && !reply.Replayed:
		return nil, nil, false, f.idInUse(ctx, given.runID)
	case err != nil:
		return nil, nil, false, err
	}
	record = reply.Run
	if record == nil {
		if record, err = f.Store.Reader(ctx).Run(ctx, reply.ReplayRunID); err != nil {
			return nil, nil, false, err
		}
	}
	return segmentOf(segmentID{runID: record.Run.RunID}, record), record, reply.Replayed, nil
}

// segmentOf returns the segment of a whole run.
func segmentOf(id segmentID, record *model.RunRecord) *segment {
	s := &segment{id: id, parentID: record.Run.ParentRunID, agentID: record.Run.AgentID, log: newHistory()}
	s.begin()
	return s
}
