package timbal

import (
	"cmp"
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// readAtOnce is how many events are read from the store at once.
const readAtOnce = 500

// advance takes in what the log has by now. enough stops it earlier.
func (f *face) advance(ctx context.Context, s *segment, enough func() bool) error {
	for !s.ended && !enough() {
		events, err := f.Store.RunEvents(ctx, s.id.runID, s.log.at, readAtOnce)
		if err != nil {
			return err
		}
		for i := range events {
			if err := s.push(ctx, &events[i], f); err != nil {
				return err
			}
		}
		if len(events) < readAtOnce {
			s.quiet()
			break
		}
	}
	return f.finish(ctx, s)
}

// look is advance for a reader who is handed the events as they come: it reads on only
// when it is not clear whether all that was raised together has been seen. The
// suspension was committed as a whole, so what belongs to it is there.
func (f *face) look(ctx context.Context, s *segment) error {
	return f.advance(ctx, s, func() bool { return !s.raising })
}

// sameSuspension implements suspensions.
func (f *face) sameSuspension(ctx context.Context, handle, other string) (bool, error) {
	one, err := f.Store.RequestByHandle(ctx, handle)
	if err != nil {
		return false, err
	}
	another, err := f.Store.RequestByHandle(ctx, other)
	if err != nil {
		return false, err
	}
	return one.Request.SuspensionID == another.Request.SuspensionID, nil
}

// finish adds the OUTPUT to a segment that has ended.
func (f *face) finish(ctx context.Context, s *segment) error {
	if !s.ended || s.finished {
		return nil
	}
	record, err := f.Store.ClaimedRun(ctx, s.id.runID)
	if err != nil {
		return err
	}
	output := outputEvent{Input: record.Run.Input, T0: s.startedAtMs, T1: s.log.atMs}
	if s.log.end != nil {
		s.over(&record.Run, &output)
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
		output.Metadata = encoded(map[string][]string{"warnings": s.warnings})
	}
	s.add(output)
	s.ended, s.finished = true, true
}

// over fills in how the run ended.
func (s *segment) over(run *model.Run, output *outputEvent) {
	//exhaustive:ignore
	switch s.log.end.Type {
	case api.EventCompleted:
		output.Status, output.Output = statusOf(codeSuccess, reasonEndTurn, ""), run.Output
	case api.EventFailed:
		output.Status, output.Error = statusOf(codeError, "", run.Error), orNull(run.Error)
	case api.EventInterrupted:
		reason := s.reason()
		output.Status = statusOf(codeCancelled, reasonInterrupted, reason)
		output.Output = encoded(stoppedOutput{reasonInterrupted, orNull(reason)})
	default:
		output.Status, output.Output = s.cancelled()
	}
}

// cancelled returns the status and output of a run that was cancelled: by one of its
// requests, or as a whole.
func (s *segment) cancelled() (status, api.JSON) {
	stopped := s.log.stopped
	if stopped == nil {
		stopped = &stoppage{reason: s.reason()}
	}
	return cancelledBy(stopped)
}

func cancelledBy(stopped *stoppage) (status, api.JSON) {
	made := statusOf(codeCancelled, reasonCancelled, cmp.Or(stopped.reason, messageCancelled))
	if stopped.approvalID != "" {
		return made, encoded(stoppedApprovalOutput{stopped.approvalID, reasonCancelled, orNull(stopped.reason)})
	}
	return made, encoded(stoppedOutput{reasonCancelled, orNull(stopped.reason)})
}

// reason is the one that the event tells by which the run ended.
func (s *segment) reason() string {
	var body struct {
		Reason string `json:"reason"`
	}
	if readLogged(s.log.end, &body) != nil {
		return ""
	}
	return body.Reason
}
