package runs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/chain"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AppendEvents appends a worker's events to the session's log (docs/spec/v1.md#append-events).
// It counts as progress.
//
// Reply: LastEventID, the id of the last appended event, even if Replayed. Errors: run_not_found,
// idempotency_conflict, lease_lost, run_state_conflict, append_too_large, invalid_request,
// invalid_idempotency_key.
type AppendEvents struct {
	RunID string
	Fence int64
	// IdempotencyKey is optional.
	IdempotencyKey string
	// Events are 1 to MaxEventsPerCall JSON objects of together at most MaxEventBytesPerCall bytes,
	// each with a "type" that is not reserved for the service. An "output" also becomes an output
	// record.
	Events []api.JSON

	heldKey
	parsed []appendedEvent
	// digests and bodies hold the events that are stored unchanged.
	digests []string
	bodies  []api.JSON
	// outputs holds the output events, without the members that the service adds.
	outputs []document.Object
}

// Spec implements Command.
func (c *AppendEvents) Spec() Spec {
	size := Size{Rows: len(c.Events), NewRows: len(c.Events)}
	for _, event := range c.Events {
		size.Bytes += len(event)
	}
	return Spec{
		Name: "AppendEvents", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence},
		size: size,
	}
}

// Needs implements Command.
func (c *AppendEvents) Needs() Needs { return Needs{RunID: c.RunID, Record: c.recordKey("")} }

// appendedEvent has the members of a worker's event that the service reads.
type appendedEvent struct {
	Type api.EventType `json:"type"`
	outputMembers
	// Output contains the other members in the form in which an output is read. In events of other
	// types it may be any value.
	Output api.JSON `json:"output"`
}

// outputMembers are the members of an output event.
type outputMembers struct {
	Content *string    `json:"content"`
	Parts   []api.JSON `json:"parts"`
}

// acceptReadForm takes the members of an output in the form in which it is read. Other members in
// there, such as the time, are the service's.
func (e *appendedEvent) acceptReadForm() error {
	if e.Type != api.EventOutput || e.Content != nil || document.Kind(e.Output) != '{' {
		return nil
	}
	return json.Unmarshal(e.Output, &e.outputMembers)
}

// reserved reports whether an event type is reserved for the service or is the name of a stream
// frame.
func reserved(event api.EventType) bool {
	return model.ByService(event) || event == "snapshot" || event == "stream_gap"
}

func (c *AppendEvents) prepare(*Call, IDSource) error {
	var faults refusal.Faults
	if len(c.Events) == 0 {
		faults.Add("/events", "must not be empty")
	}
	if err := c.checkSize(); err != nil {
		return err
	}
	c.parsed, c.digests = make([]appendedEvent, len(c.Events)), make([]string, len(c.Events))
	c.bodies, c.outputs = make([]api.JSON, len(c.Events)), make([]document.Object, len(c.Events))
	for i, text := range c.Events {
		at := fmt.Sprintf("/events/%d", i)
		event := &c.parsed[i]
		if document.Kind(text) != '{' {
			faults.Add(at, "must be an object")
			continue
		}
		// Member names are case-sensitive, so readers of the body see the same type that is checked here.
		if err := json.Unmarshal(text, event); err != nil {
			addEventFault(&faults, at, err)
			continue
		}
		if err := event.acceptReadForm(); err != nil {
			addEventFault(&faults, at+"/output", err)
			continue
		}
		switch {
		case event.Type == "":
			faults.Add(at+"/type", "is required")
		case reserved(event.Type):
			faults.Add(at+"/type", "%s is written by the service only", event.Type)
		case !refusal.ValidID(string(event.Type)):
			faults.Add(at+"/type", "must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
		case event.Type == api.EventOutput && event.Content == nil:
			faults.Add(at+"/content", "is required")
		}
		if err := c.prepareBody(i); err != nil {
			faults.Add(at, "has no canonical form")
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	return c.prepareKey()
}

// checkSize refuses an append that would delay others too long, and points at the first event
// beyond the limits.
func (c *AppendEvents) checkSize() error {
	bytes := 0
	for i, event := range c.Events {
		if bytes += len(event); i < api.MaxEventsPerCall && bytes <= api.MaxEventBytesPerCall {
			continue
		}
		tooLarge := refusal.New(api.CodeAppendTooLarge, "one call appends at most %d events of together %d bytes",
			api.MaxEventsPerCall, api.MaxEventBytesPerCall)
		tooLarge.Faults = []api.Fault{{Pointer: fmt.Sprintf("/events/%d", i), Detail: "is beyond the limit of one call"}}
		return tooLarge
	}
	return nil
}

// prepareKey prepares the key of a keyed call. The fingerprint covers digests of the events, so little is hashed under
// the lock.
func (c *AppendEvents) prepareKey() error {
	if err := prepareKey(&c.IdempotencyKey); err != nil || c.IdempotencyKey == "" {
		return err
	}
	digests := slices.Clone(c.digests)
	for i, text := range c.Events {
		if digests[i] == "" {
			var err error
			if digests[i], err = chain.BodyDigest(text); err != nil {
				return noCanonicalForm()
			}
		}
		// A body's digest does not cover its type.
		digests[i] = string(c.parsed[i].Type) + " " + digests[i]
	}
	events, err := document.Digest(digests)
	if err != nil {
		return noCanonicalForm()
	}
	c.heldKey, err = heldKeyOf("events", c.IdempotencyKey, map[string]string{"events": events, "fence": model.FenceText(c.Fence)})
	return err
}

// addEventFault adds a decoding error, located at the invalid member.
func addEventFault(faults *refusal.Faults, at string, err error) {
	pointer := jsontext.Pointer("")
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		pointer = semantic.JSONPointer
	} else if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		pointer = syntactic.JSONPointer
	}
	detail := "does not fit the schema"
	switch pointer {
	case "/type", "/content":
		detail = "must be text"
	case "/parts":
		detail = "must be an array"
	}
	faults.Add(at+string(pointer), "%s", detail)
}

// prepareBody computes the stored form of an event. An event with faults may be prepared or not.
func (c *AppendEvents) prepareBody(at int) error {
	var err error
	if event := &c.parsed[at]; event.Type == api.EventOutput && event.Content != nil {
		c.outputs[at], err = document.ObjectOf(api.OutputRecord{Content: *event.Content, Parts: event.Parts})
		return err
	}
	if c.digests[at], err = chain.BodyDigest(c.Events[at]); err != nil {
		return err
	}
	c.bodies[at] = document.Encode(c.Events[at])
	return nil
}

func (c *AppendEvents) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if reply, done, err := c.find(w, run); done {
		return reply, err
	}
	if err := w.checkHolder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	for i, event := range c.parsed {
		if event.Type != api.EventOutput {
			w.emitDigested(run, event.Type, c.bodies[i], c.digests[i])
			continue
		}
		w.countOutput(run)
		output := c.outputs[i].With("session_id", document.OwnValue(run.SessionID)).
			With("run_id", document.OwnValue(run.RunID)).With("created_at_ms", document.Integer(w.nowMs))
		w.emitMembers(run, api.EventOutput, document.Object{}.With("output", output.Value()))
	}
	run.StalledAttempts = 0
	w.saveRun(run)
	c.write(w, run, w.session.LastEventID)
	return Reply{LastEventID: w.session.LastEventID}, nil
}
