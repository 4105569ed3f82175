package timbal

import (
	"context"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
)

// frame is one event of a stream.
type frame struct {
	seq  int64
	data api.JSON
}

// segment is a client's run, folded from the log: from START to the OUTPUT of the next pause or the
// end. The same log always gives the same frames with the same numbers.
//
// A pause ends a segment. All requests raised together are shown before it, except those settled
// when they were raised.
type segment struct {
	id       segmentID
	parentID string
	agentID  string
	log      history
	// startedAtMs is when the segment began.
	startedAtMs int64
	// raising says that requests were raised and that the next events may belong to the same
	// suspension. question is the handle of one of its questions while only questions have come.
	raising  bool
	question string
	// ended says that only the OUTPUT follows, which face.finish adds; finished says that it was
	// added.
	ended, finished bool
	// notes are the faults of answers, by wait; warnings are about the whole resume. They are not
	// in the log, so they are shown only once.
	notes    map[string]string
	warnings []string

	seq    int64
	frames []frame
}

// begin adds the START. The history reaches to the event after which the segment begins. Only what
// is open there is used.
func (s *segment) begin() {
	s.startedAtMs = s.log.lastEventMs
	s.add(s.header(typeStart))
	if s.log.end != nil || len(s.log.open) > 0 {
		s.pause()
	}
}

func (s *segment) header(eventType string) header {
	return header{
		Type: eventType, RunID: s.id.String(), ParentRunID: kit.OrNull(s.parentID),
		Path: pathOf(s.agentID), CallID: s.id.runID,
	}
}

// pathOf is the path of an agent's run. Clients would take a path with a dot for something inside a
// run, and wait forever for the end of the run.
func pathOf(agentID string) string { return strings.ReplaceAll(agentID, ".", "_") }

func (s *segment) add(event any) { s.addDocument(kit.Encode(event)) }

func (s *segment) addDocument(data api.JSON) {
	s.seq++
	s.frames = append(s.frames, frame{s.seq, data})
}

// takeFrames returns the new frames since the last call.
func (s *segment) takeFrames() []frame {
	frames := s.frames
	s.frames = nil
	return frames
}

// pause shows the open requests and ends the segment.
func (s *segment) pause() {
	s.raising, s.ended = false, true
	if s.log.end != nil {
		return
	}
	for _, w := range s.log.open {
		s.add(w.event(s, s.notes[w.shownID()]))
	}
}

// suspensions reports whether two requests were raised together.
type suspensions interface {
	sameSuspension(ctx context.Context, handle, other string) (bool, error)
}

// apply folds the run's next event. Known events, and events after the end, are ignored.
func (s *segment) apply(ctx context.Context, event *model.Event, of suspensions) error {
	if s.ended || event.EventID <= s.log.lastEventID {
		return nil
	}
	if s.startedAtMs == 0 {
		s.startedAtMs = event.TimestampMs
	}
	if s.raising {
		belongs, err := s.raisedTogether(ctx, event, of)
		if err != nil {
			return err
		}
		if !belongs {
			s.endRaising()
		}
		if s.ended {
			return nil
		}
	}
	before := len(s.log.open)
	if err := s.log.apply(event); err != nil {
		return err
	}
	switch {
	case s.log.end != nil:
		s.pause()
	case len(s.log.open) > before:
		s.raising, s.question = true, ""
		if first := s.log.open[before]; first.question != nil {
			s.question = first.question.Handle
		}
	default:
		s.addWorkerEvent(event)
	}
	return nil
}

// endRaising is called at the end of the log, or when the next event does not belong to the
// suspension: all of it has been seen.
func (s *segment) endRaising() {
	if !s.raising {
		return
	}
	s.raising = false
	if len(s.log.open) > 0 {
		s.pause()
	}
}

// raisedTogether reports whether an event was committed with the one that raised the requests (see
// [runs.Suspend]): questions come before approvals, and then requests settled at once.
func (s *segment) raisedTogether(ctx context.Context, event *model.Event, of suspensions) (bool, error) {
	change, err := kit.ChangeOf(event)
	if err != nil {
		return false, err
	}
	if len(change.Approvals) > 0 && s.question != "" {
		return of.sameSuspension(ctx, s.question, change.Approvals[0].Handle)
	}
	return s.log.settledWhenRaised(&change), nil
}
