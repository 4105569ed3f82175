package timbal

import (
	"cmp"
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// readLog folds the log to its end, or until enough returns true.
func (f *face) readLog(ctx context.Context, s *segment, enough func() bool) error {
	for !s.ended && !enough() {
		events, more, err := f.Store.Reader(ctx).EventsWithin(ctx, reads.EventQuery{
			RunID: s.id.runID, Kept: true, After: s.log.lastEventID, Limit: pageSize, MaxBytes: pageBytes,
		})
		if err != nil {
			return err
		}
		for i := range events {
			if err := s.apply(ctx, &events[i], f); err != nil {
				return err
			}
		}
		if !more {
			s.endRaising()
			break
		}
	}
	return f.finish(ctx, s)
}

// readAhead is readLog for a reader that receives events as they come. It reads ahead only to find
// out whether it has seen everything raised together. A suspension is committed as a whole, so the
// rest of it is already there.
func (f *face) readAhead(ctx context.Context, s *segment) error {
	return f.readLog(ctx, s, func() bool { return !s.raising })
}

// sameSuspension implements suspensions.
func (f *face) sameSuspension(ctx context.Context, handle, other string) (bool, error) {
	one, err := f.Store.Reader(ctx).RequestByHandle(ctx, handle)
	if err != nil {
		return false, err
	}
	another, err := f.Store.Reader(ctx).RequestByHandle(ctx, other)
	if err != nil {
		return false, err
	}
	return one.Request.SuspensionID == another.Request.SuspensionID, nil
}

// finish adds the OUTPUT to an ended segment.
func (f *face) finish(ctx context.Context, s *segment) error {
	if !s.ended || s.finished {
		return nil
	}
	record, err := f.Store.Reader(ctx).ClaimedRun(ctx, s.id.runID)
	if err != nil {
		return err
	}
	output := outputEvent{Input: withoutHistory(&record.Run), T0: s.startedAtMs, T1: s.log.lastEventMs}
	if s.log.end != nil {
		s.endOutput(&record.Run, &output)
	} else {
		output.Status, output.Output = s.log.open[0].paused()
	}
	s.addOutput(&output)
	return nil
}

// addOutput adds the last event of a segment.
func (s *segment) addOutput(output *outputEvent) {
	output.header = s.header(typeOutput)
	output.Usage, output.Metadata = emptyObject, emptyObject
	if len(s.warnings) > 0 {
		output.Metadata = kit.Encode(map[string][]string{"warnings": s.warnings})
	}
	s.add(output)
	s.ended, s.finished = true, true
}

// endOutput fills in how the run ended.
func (s *segment) endOutput(run *model.Run, output *outputEvent) {
	//exhaustive:ignore
	switch s.log.end.Type {
	case api.EventCompleted:
		output.Status, output.Output = statusOf(codeSuccess, reasonEndTurn, ""), run.Output
	case api.EventFailed:
		output.Status, output.Error = statusOf(codeError, "", run.Error), kit.OrNull(run.Error)
	case api.EventInterrupted:
		output.Status, output.Output = s.interrupted()
	default:
		output.Status, output.Output = s.cancelled()
	}
}

// interrupted returns the status and output of a run that was stopped while it worked.
func (s *segment) interrupted() (status, api.JSON) {
	reason := s.reason()
	return statusOf(codeCancelled, reasonInterrupted, reason), kit.Encode(stopOutput{Status: reasonInterrupted, Reason: textOrNull(reason)})
}

// cancelled returns the status and output of a cancelled run. For clients, a run that waited for
// nothing was interrupted.
func (s *segment) cancelled() (status, api.JSON) {
	if s.log.stopped == nil {
		return s.interrupted()
	}
	return cancelledBy(s.log.stopped)
}

func cancelledBy(stopped *stoppage) (status, api.JSON) {
	made := statusOf(codeCancelled, reasonCancelled, cmp.Or(stopped.reason, messageCancelled))
	return made, kit.Encode(stopOutput{ApprovalID: stopped.approvalID, Status: reasonCancelled, Reason: textOrNull(stopped.reason)})
}

// reason returns the reason in the event that ended the run, "" for none.
func (s *segment) reason() string {
	var body struct {
		Reason string `json:"reason"`
	}
	if kit.DecodeEvent(s.log.end, &body) != nil {
		return ""
	}
	return body.Reason
}
