package runs

import "context"

// AskStore is what [Ask] needs of a [Store].
type AskStore interface {
	Door
	Run(ctx context.Context, runID string) (*RunRecord, error)
	Session(ctx context.Context, sessionID string) (*SessionRecord, error)
}

// Asked is a question that a child asked its parent's session.
type Asked struct {
	Clarification *RunRecord // the run in the parent's session
	Run           *RunRecord // the run that asked
}

// Ask gives the command of a child that asks its parent's session, and makes the
// clarification's run there before it returns. When it fails on the way, the
// question may stand in the child's session; then the effect makes the run, and the
// same call again finds it. Errors: those of AskClarification and of Door.Do;
// session_ended when the parent's session has ended.
func Ask(ctx context.Context, store AskStore, command *AskClarification) (*Asked, error) {
	refusal, err := parentRefusal(ctx, store, command.RunID)
	if err != nil {
		return nil, err
	}
	command.ParentRefusal = refusal
	reply, err := store.Do(ctx, command)
	if err != nil {
		return nil, err
	}
	opened, err := store.Do(ctx, reply.Open)
	if err != nil {
		return nil, err
	}
	asked := &Asked{Clarification: opened.Run, Run: reply.Run}
	if opened.Existing {
		asked.Clarification, err = store.Run(ctx, reply.Clarification.RunID)
	}
	return asked, err
}

// parentRefusal tells why the parent of a run's session takes no question: it is
// not there, or it has ended. It tells nothing of a session that has no parent.
func parentRefusal(ctx context.Context, store AskStore, runID string) (*Error, error) {
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
	case ErrorCode(err) == CodeSessionNotFound:
		return newError(CodeNoParentSession, "the parent session %s does not exist", parentID), nil
	case err != nil:
		return nil, err
	case parent.Session.EndedAtMs != 0:
		return newError(CodeSessionEnded, "the parent session %s has ended", parentID), nil
	}
	return nil, nil
}
