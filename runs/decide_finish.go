package runs

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// Needs implements Command.
func (c *AppendEvents) Needs() Needs { return Needs{RunID: c.RunID} }

// appendedEvent is what the service reads of a worker's event.
type appendedEvent struct {
	Type    EventType `json:"type"`
	Content *string   `json:"content"`
	Parts   []JSON    `json:"parts"`
}

type outputEvent struct {
	Type   EventType    `json:"type"`
	Output OutputRecord `json:"output"`
}

// reservedTypes are the events that only the service writes.
var reservedTypes = map[EventType]bool{
	EventAccepted: true, EventQueued: true, EventStarted: true,
	EventWaitingForApproval: true, EventApprovalResolved: true,
	EventWaitingForUserQuestion: true, EventUserQuestionResolved: true, EventUserQuestionAnswered: true,
	EventCompleted: true, EventFailed: true, EventInterrupted: true, EventCancelled: true,
	// Frames of streams that are no events.
	"snapshot": true, "stream_gap": true,
	EventParentClarificationRequested: true, EventParentClarificationResolved: true,
}

func (c *AppendEvents) prepare(IDSource) error {
	var faults faultList
	if len(c.Events) == 0 {
		faults.add("/events", "must not be empty")
	}
	if len(c.Events) > MaxEventsPerCall {
		faults.add("/events", "must have at most %d entries", MaxEventsPerCall)
		return faults.err()
	}
	c.parsed = make([]appendedEvent, len(c.Events))
	for i, text := range c.Events {
		at := fmt.Sprintf("/events/%d", i)
		event := &c.parsed[i]
		if KindOf(text) != '{' {
			faults.add(at, "must be an object")
			continue
		}
		if err := json.Unmarshal(text, event); err != nil {
			faults.add(at, "must have a text as type; an output has content (text) and parts (array)")
			continue
		}
		switch {
		case event.Type == "":
			faults.add(at+"/type", "is required")
		case reservedTypes[event.Type]:
			faults.add(at+"/type", "%s is written by the service only", event.Type)
		case !ValidID(string(event.Type)):
			faults.add(at+"/type", "must have 1 to %d characters of A-Z a-z 0-9 . _ : -", MaxIDLength)
		case event.Type == EventOutput && event.Content == nil:
			faults.add(at+"/content", "is required")
		}
	}
	return faults.err()
}

func (c *AppendEvents) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	for i, event := range c.parsed {
		if event.Type != EventOutput {
			w.emit(run, event.Type, c.Events[i])
			continue
		}
		run.OutputCount++
		w.emit(run, EventOutput, outputEvent{EventOutput, OutputRecord{
			RunID: run.RunID, Content: *event.Content, Parts: event.Parts, CreatedAtMs: w.nowMs,
		}})
	}
	run.StalledAttempts = 0
	w.saveRun(run)
	return Reply{LastEventID: w.session.LastEventID}, nil
}

// Needs implements Command.
func (c *Complete) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Complete) prepare(IDSource) error {
	absentNull(&c.Output)
	var err error
	c.digest, err = digestOf(map[string]any{"complete": c.Output})
	return err
}

func (c *Complete) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if w.sameCall(run, c.Fence, LeaseCompleted, c.digest) {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	w.abandon(run)
	run.Output = c.Output
	run.LastCallDigest = c.digest
	w.finish(run, StatusCompleted, LeaseCompleted, EventCompleted, plainEvent{EventCompleted})
	return Reply{Run: w.recordOf(run)}, nil
}

// abandon records what is left open when a run ends: by an attached worker, or by
// one that did not wait for the answer to its clarification.
func (w *work) abandon(run *Run) {
	w.settleAll(run, w.open(run.RunID), Resolution{
		Outcome: OutcomeExpired, Reason: "the run ended", ResolvedBy: ResolvedBySystem, Via: ViaRunEnded,
	})
	if Waiting(run.Status) {
		w.move(run, StatusRunning)
	}
}

// Needs implements Command.
func (c *Fail) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Fail) prepare(IDSource) error {
	var faults faultList
	faults.requiredText("/error", c.Error, MaxTextLength)
	if err := faults.err(); err != nil {
		return err
	}
	var err error
	c.digest, err = digestOf(map[string]any{"fail": c.Error})
	return err
}

func (c *Fail) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if w.sameCall(run, c.Fence, LeaseFailed, c.digest) {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	w.abandon(run)
	run.Error = c.Error
	run.LastCallDigest = c.digest
	w.finish(run, StatusFailed, LeaseFailed, EventFailed, errorEvent{EventFailed, c.Error})
	return Reply{Run: w.recordOf(run)}, nil
}
