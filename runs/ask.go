package runs

import (
	"context"

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
// no_parent_session or session_ended when the parent's session does not exist or has ended; run_not_found when the
// question is settled and its clarification is deleted.
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
	asked := &Asked{Run: reply.Run, Existing: reply.Existing}
	if reply.Effect == nil {
		// Retention may have deleted the settled clarification. Opening it again would ask people again.
		asked.Clarification, err = store.Run(ctx, reply.Clarification.RunID)
		if refused != nil && refusal.CodeOf(err) == api.CodeRunNotFound {
			err = refused // it was never opened
		}
		return asked, err
	}
	open, err := CommandOf(reply.Effect)
	if err != nil {
		return nil, err
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
