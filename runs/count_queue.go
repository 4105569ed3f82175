package runs

import (
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// onCallError says that a call by the session's route is about the request of a run that takes no
// slot, whose rows were not loaded.
type onCallError struct{ runID string }

func (e *onCallError) Error() string { return "the request is of run " + e.runID }

// Lacked prepares a command that was refused with err to be decided again with the rows that its
// decision lacked, and reports whether it must be: the bytes of the queue, or the run of a call.
// A Door never returns such an error.
func Lacked(command Command, err error) bool {
	if onCall := new(onCallError); errors.As(err, &onCall) {
		switch given := Given(command).(type) {
		case *ResolveApprovals:
			given.RunID = onCall.runID
		case *AnswerQuestion:
			given.RunID = onCall.runID
		case *DecideRequests:
			given.RunID = onCall.runID
		default:
			return false
		}
		return true
	}
	create, ok := Given(command).(*CreateRun)
	if !ok || !errors.Is(err, errCountQueue) {
		return false
	}
	create.countQueue = true
	return true
}

// openOnCall returns the error by which the command is decided again when an open request of that
// id is one of a call of the session, else nil.
func (w *workingCopy) openOnCall(requestID string, kind model.RequestKind) error {
	for key, row := range w.state.Requests {
		if key.RequestID != requestID || row.SessionID != w.state.SessionID || w.session != nil && key.RunID == w.session.ActiveRunID {
			continue
		}
		request := w.request(key.RunID, key.RequestID)
		if request.Kind != kind || !request.Open() {
			continue
		}
		if run := w.run(key.RunID); run == nil || run.Kind == api.KindCall {
			return &onCallError{key.RunID}
		}
	}
	return nil
}
