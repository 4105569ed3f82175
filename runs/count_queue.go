package runs

import "errors"

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
