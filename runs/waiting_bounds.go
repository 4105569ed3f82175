package runs

import (
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// errCountQueue says that the queue is so long that its bytes must be counted.
var errCountQueue = errors.New("the queue is to be counted")

// uncountedRuns is the queue length up to which MaxQueuedBytes cannot be exceeded, because the size
// of a request body is limited.
const uncountedRuns = api.MaxQueuedBytes/maxBodyBytes - 2

// countQueue returns the size of the queue, nil when not all of it is loaded.
func (w *workingCopy) countQueue() *Held {
	var queued Held
	for _, run := range w.state.Runs {
		if run.Status != api.StatusQueued || run.SessionID != w.state.SessionID {
			continue
		}
		if run.Input == nil {
			return nil
		}
		queued.add(queuedBytes(run))
	}
	if queued.Rows != w.session.QueuedCount {
		return nil
	}
	return &queued
}

// checkClarifications returns questions_full when one more clarification exceeds the session's
// limits.
func (w *workingCopy) checkClarifications(bytes int) error {
	held := w.state.OpenClarifications
	if held == nil || held.Rows < api.MaxOpenClarifications && held.Bytes+int64(bytes) <= api.MaxClarificationBytes {
		return nil
	}
	return refusal.New(api.CodeQuestionsFull, "session %s has %d questions of other sessions open, of %d bytes; at most %d and %d are allowed",
		w.state.SessionID, held.Rows, held.Bytes, api.MaxOpenClarifications, api.MaxClarificationBytes)
}

// checkCalls returns queue_full when one more call exceeds the session's limits.
func (w *workingCopy) checkCalls(raised *api.Suspension) error {
	bytes := int64(0)
	for i := range raised.Approvals {
		bytes += int64(len(raised.Approvals[i].Input))
	}
	held := w.state.OpenCalls
	if held == nil || held.Rows < api.MaxQueuedRuns && held.Bytes+bytes <= api.MaxQueuedBytes {
		return nil
	}
	return refusal.New(api.CodeQueueFull, "session %s has %d requests of calls open, of %d bytes; at most %d and %d are allowed",
		w.state.SessionID, held.Rows, held.Bytes, api.MaxQueuedRuns, api.MaxQueuedBytes)
}

// checkMailbox returns mailbox_full when a message exceeds the limits of the session's mailbox.
func (w *workingCopy) checkMailbox(bytes int) error {
	held := w.state.Mailbox
	if held == nil || held.Rows < api.MaxMessages && held.Bytes+int64(bytes) <= api.MaxMessageBytes {
		return nil
	}
	return refusal.New(api.CodeMailboxFull, "the mailbox of session %s has %d messages, of %d bytes; at most %d and %d are allowed",
		w.state.SessionID, held.Rows, held.Bytes, api.MaxMessages, api.MaxMessageBytes)
}

// checkResume returns an error when the run's open requests, the added ones, and the decisions above after are
// too many or too large together. A worker that stays attached and stores no checkpoint would otherwise add to
// them without end, and each of its calls and views has all of them.
func (w *workingCopy) checkResume(run *model.Run, after int64, added int) error {
	count, bytes := added, 0
	for _, request := range w.requestsOf(run.RunID) {
		if request.Open() || request.SettledNumber > after {
			count++
			bytes += len(request.Body) + len(request.Sealed) + len(request.Resolution)
		}
	}
	if count <= api.MaxResumeRequests && bytes <= api.MaxResumeBytes {
		return nil
	}
	return refusal.New(api.CodeSuspensionTooLarge,
		"run %s would have %d requests that are open or that no checkpoint includes, and those so far have %d bytes; at most %d and %d are allowed: store a checkpoint with settled_after",
		run.RunID, count, bytes, api.MaxResumeRequests, api.MaxResumeBytes)
}

// Passes reports whether a command that was refused with a code may be accepted later without changes.
func Passes(code api.Code) bool {
	return code == api.CodeQuestionsFull || code == api.CodeMailboxFull
}

// lacksRows reports whether a command that was refused with err must be decided again with more rows: the
// bytes of the queue, or the run of a request. It then updates the command's Needs.
func lacksRows(command Command, err error) bool {
	if err == nil {
		return false
	}
	spec := command.Spec()
	if onCall := new(onCallError); spec.runID != nil && errors.As(err, &onCall) {
		*spec.runID = onCall.runID
		return true
	}
	if spec.countQueue != nil && errors.Is(err, errCountQueue) {
		*spec.countQueue = true
		return true
	}
	return false
}
