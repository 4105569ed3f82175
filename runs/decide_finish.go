package runs

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Needs implements Command.
func (c *AppendEvents) Needs() Needs { return Needs{RunID: c.RunID} }

// appendedEvent is what the service reads of a worker's event.
type appendedEvent struct {
	Type    api.EventType `json:"type"`
	Content *string       `json:"content"`
	Parts   []api.JSON    `json:"parts"`
}

type outputEvent struct {
	Type   api.EventType    `json:"type"`
	Output api.OutputRecord `json:"output"`
}

// reservedTypes are the events that only the service writes.
var reservedTypes = map[api.EventType]bool{
	api.EventAccepted: true, api.EventQueued: true, api.EventStarted: true,
	api.EventWaitingForApproval: true, api.EventApprovalResolved: true,
	api.EventWaitingForUserQuestion: true, api.EventUserQuestionResolved: true, api.EventUserQuestionAnswered: true,
	api.EventCompleted: true, api.EventFailed: true, api.EventInterrupted: true, api.EventCancelled: true,
	// Frames of streams that are no events.
	"snapshot": true, "stream_gap": true,
	api.EventParentClarificationRequested: true, api.EventParentClarificationResolved: true,
}

func (c *AppendEvents) prepare(IDSource) error {
	var faults refusal.Faults
	if len(c.Events) == 0 {
		faults.Add("/events", "must not be empty")
	}
	if len(c.Events) > api.MaxEventsPerCall {
		faults.Add("/events", "must have at most %d entries", api.MaxEventsPerCall)
		return faults.Err()
	}
	c.parsed = make([]appendedEvent, len(c.Events))
	for i, text := range c.Events {
		at := fmt.Sprintf("/events/%d", i)
		event := &c.parsed[i]
		if document.Kind(text) != '{' {
			faults.Add(at, "must be an object")
			continue
		}
		if err := json.Unmarshal(text, event); err != nil {
			faults.Add(at, "must have a text as type; an output has content (text) and parts (array)")
			continue
		}
		switch {
		case event.Type == "":
			faults.Add(at+"/type", "is required")
		case reservedTypes[event.Type]:
			faults.Add(at+"/type", "%s is written by the service only", event.Type)
		case !refusal.ValidID(string(event.Type)):
			faults.Add(at+"/type", "must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
		case event.Type == api.EventOutput && event.Content == nil:
			faults.Add(at+"/content", "is required")
		}
	}
	return faults.Err()
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
		if event.Type != api.EventOutput {
			w.emit(run, event.Type, c.Events[i])
			continue
		}
		run.OutputCount++
		w.emit(run, api.EventOutput, outputEvent{api.EventOutput, api.OutputRecord{
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
	document.AbsentNull(&c.Output)
	var err error
	c.digest, err = digestOf(map[string]any{"complete": c.Output})
	return err
}

func (c *Complete) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if w.sameCall(run, c.Fence, model.LeaseCompleted, c.digest) {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	w.abandon(run)
	run.Output = c.Output
	run.LastCallDigest = c.digest
	w.finish(run, api.StatusCompleted, model.LeaseCompleted, api.EventCompleted, plainEvent{api.EventCompleted})
	return Reply{Run: w.recordOf(run)}, nil
}

// abandon records what is left open when a run ends: by an attached worker, or by
// one that did not wait for the answer to its clarification.
func (w *work) abandon(run *model.Run) {
	w.settleAll(run, w.open(run.RunID), api.Resolution{
		Outcome: api.OutcomeExpired, Reason: "the run ended", ResolvedBy: api.ResolvedBySystem, Via: api.ViaRunEnded,
	})
	if model.Waiting(run.Status) {
		w.move(run, api.StatusRunning)
	}
}

// Needs implements Command.
func (c *Fail) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *Fail) prepare(IDSource) error {
	var faults refusal.Faults
	faults.RequiredText("/error", c.Error, api.MaxTextLength)
	if err := faults.Err(); err != nil {
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
	if w.sameCall(run, c.Fence, model.LeaseFailed, c.digest) {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.holder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	w.abandon(run)
	run.Error = c.Error
	run.LastCallDigest = c.digest
	w.finish(run, api.StatusFailed, model.LeaseFailed, api.EventFailed, errorEvent{api.EventFailed, c.Error})
	return Reply{Run: w.recordOf(run)}, nil
}
