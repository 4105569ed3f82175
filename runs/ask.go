package runs

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AskStore is the part of a [Store] that [Ask] uses.
type AskStore interface {
	Door
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	Session(ctx context.Context, sessionID string) (*model.SessionRecord, error)
}

// Asked is the result of [Ask].
type Asked struct {
	Clarification *model.RunRecord // the run in the parent's session
	Run           *model.RunRecord // the run that asked
	Existing      bool             // the same question was asked before
}

// Ask decides a child's question and creates the clarification's run in the parent's session
// before it returns. If it fails in between, the child's request exists and its effect creates
// the run later; a repeated call finds both. Errors: the errors of AskClarification and Door.Do;
// no_parent_session or session_ended when the parent's session does not exist or has ended.
func Ask(ctx context.Context, store AskStore, command *AskClarification) (*Asked, error) {
	refused, err := parentRefusal(ctx, store, command.RunID)
	if err != nil {
		return nil, err
	}
	command.ParentRefusal = refused
	reply, err := store.Do(ctx, command)
	if err != nil {
		return nil, err
	}
	payload, err := openPayloadOf(reply.Effect)
	if err != nil {
		return nil, err
	}
	open := payload.command(reply.Clarification.SessionID)
	asked := &Asked{Run: reply.Run, Existing: reply.Existing}
	at := slices.IndexFunc(reply.Run.Requests, func(r model.Request) bool { return r.RequestID == reply.Clarification.RequestID && !r.Open() })
	if at >= 0 {
		// Opening a settled question again would ask people again, for an answer that the run cannot get.
		asked.Clarification, err = store.Run(ctx, reply.Clarification.RunID)
		if refusal.CodeOf(err) == api.CodeRunNotFound {
			asked.Clarification, err = settledAs(ctx, store, open, &reply.Run.Requests[at])
		}
		return asked, err
	}
	opened, err := store.Do(ctx, open)
	if err != nil {
		return nil, err
	}
	if asked.Clarification = opened.Run; opened.Existing {
		asked.Clarification, err = store.Run(ctx, reply.Clarification.RunID)
	}
	return asked, err
}

// settledAs returns what the run that asked knows of the clarification's run, which retention has deleted, or which was
// never opened.
func settledAs(ctx context.Context, store AskStore, open *OpenClarification, asked *model.Request) (*model.RunRecord, error) {
	agentID := model.DefaultAgentID
	parent, err := store.Session(ctx, open.SessionID)
	switch {
	case err == nil:
		agentID = parent.Session.AgentID
	case refusal.CodeOf(err) != api.CodeSessionNotFound:
		return nil, err
	}
	run := open.run(agentID, asked.CreatedAtMs)
	run.Status, run.FinishedAtMs, run.UpdatedAtMs = api.StatusCompleted, asked.SettledAtMs, asked.SettledAtMs
	return &model.RunRecord{Run: *run}, nil
}

// parentRefusal returns an error if the parent's session does not exist or has ended. It returns
// nil if the session accepts a question, and for a session without a parent.
func parentRefusal(ctx context.Context, store AskStore, runID string) (*refusal.Error, error) {
	run, err := store.Run(ctx, runID)
	if err != nil {
		return nil, err
	}
	session, err := store.Session(ctx, run.Run.SessionID)
	if err != nil {
		return nil, err
	}
	parentID := session.Session.ParentSessionID
	if parentID == "" {
		return nil, nil
	}
	parent, err := store.Session(ctx, parentID)
	switch {
	case refusal.CodeOf(err) == api.CodeSessionNotFound:
		return refusal.New(api.CodeNoParentSession, "the parent session %s does not exist", parentID), nil
	case err != nil:
		return nil, err
	case parent.Session.EndedAtMs != 0:
		return refusal.New(api.CodeSessionEnded, "the parent session %s has ended", parentID), nil
	}
	return nil, nil
}
