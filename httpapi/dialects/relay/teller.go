package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/runs/model"
)

var keepAlive = []byte(": keepalive\n\n")

var (
	errGone = errors.New("the client takes no more")
	errOver = errors.New("the chat is over")
)

// promptKey names a request among those of a session.
type promptKey struct{ runID, requestID string }

// prompt is a request that was announced and is not settled.
type prompt struct {
	from   origin
	handle string
	// approval is nil for a question.
	approval *api.ApprovalRequest
	// shown is false for an approval that a rule settles in the moment it is raised.
	shown bool
}

// teller tells the client of one chat what happens in its session: it is the sink of
// the stream. One goroutine uses it.
type teller struct {
	ctx  context.Context //nolint:containedctx // that of the request, for the reads that a sink makes
	face *face
	chat *begun
	out  *stream.Writer

	text    []byte // frames that are not written yet
	started bool
	// prompts are open; denied are the tool calls whose result was sent already.
	prompts map[promptKey]*prompt
	denied  map[promptKey]bool
	blocks  map[string]block

	// over says that the run has ended, gone that the client takes no more.
	over, gone bool
}

func newTeller(ctx context.Context, f *face, chat *begun, out *stream.Writer) *teller {
	return &teller{
		ctx: ctx, face: f, chat: chat, out: out,
		prompts: map[promptKey]*prompt{}, denied: map[promptKey]bool{}, blocks: map[string]block{},
	}
}

// connect sends the first frame.
func (t *teller) connect() error {
	t.send("connected", object{{"sessionId", textValue(t.chat.sessionID)}})
	return t.flush()
}

// KeepAlive implements stream.Sink.
func (t *teller) KeepAlive() error {
	t.text = append(t.text, keepAlive...)
	return t.flush()
}

// Events implements stream.Sink. It returns an error also when the chat is over: then
// nothing of the session belongs on this stream any more.
func (t *teller) Events(events []*model.Event) error {
	for i, event := range events {
		var next *model.Event
		if i+1 < len(events) {
			next = events[i+1]
		}
		if err := t.tell(event, next); err != nil {
			if t.ctx.Err() == nil {
				t.face.logFailure(t.ctx, "tell an event", t.chat.sessionID, err)
			}
			return errors.Join(err, t.flush())
		}
		if t.over {
			break
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if t.over {
		return errOver
	}
	return nil
}

func (t *teller) flush() error {
	if len(t.text) == 0 {
		return nil
	}
	_, err := t.out.Write(t.text)
	t.text = t.text[:0]
	if err != nil || t.out.Flush() != nil {
		t.gone = true
		return errGone
	}
	return nil
}

// send adds a frame: its type comes first in its data.
func (t *teller) send(name string, members object) {
	data, err := append(object{{"type", textValue(name)}}, members...).encode()
	if err != nil {
		// Not reached: every value was read from JSON or made here.
		t.face.logFailure(t.ctx, "encode a frame", t.chat.sessionID, err)
		return
	}
	t.text = append(append(append(t.text, "event: "...), name...), "\ndata: "...)
	t.text = append(append(t.text, data...), "\n\n"...)
}

// tell adds the frames of one event. The next event is nil when it is not known.
func (t *teller) tell(event, next *model.Event) error {
	if event.RunID != t.chat.mark.RunID && !aboutQuestions(event.Type) {
		return nil
	}
	switch event.Type {
	case api.EventAccepted, api.EventQueued, api.EventUserQuestionAnswered, api.EventParentClarificationRequested:
		return nil
	case api.EventStarted:
		if !t.started {
			t.started = true
			t.send("harness_start", t.own(event).members())
		}
		return nil
	case api.EventWaitingForApproval:
		return t.raised(event, next)
	case api.EventApprovalResolved:
		return t.resolved(event)
	case api.EventWaitingForUserQuestion:
		return t.asked(event)
	case api.EventUserQuestionResolved, api.EventParentClarificationResolved:
		return t.answered(event)
	case api.EventCompleted, api.EventFailed, api.EventInterrupted, api.EventCancelled:
		t.end(event)
		return nil
	case api.EventOutput: // a worker's, as all are that have no case here
	}
	return t.worked(event)
}

// aboutQuestions reports whether an event is told also when it is another run's: a
// session of a child asks by a run of its own in this one.
func aboutQuestions(name api.EventType) bool {
	return name == api.EventWaitingForUserQuestion || name == api.EventUserQuestionResolved || name == api.EventParentClarificationResolved
}

// end tells how the run ended. One that did not complete says why.
func (t *teller) end(event *model.Event) {
	var body struct {
		Error  string `json:"error"`
		Reason string `json:"reason"`
	}
	// A body that does not fit leaves the reason empty.
	_ = json.Unmarshal(event.Body, &body)
	message := body.Error
	if event.Type == api.EventInterrupted || event.Type == api.EventCancelled {
		message = fmt.Sprintf("the run was %s", event.Type)
		if body.Reason != "" {
			message += ": " + body.Reason
		}
	}
	who := t.own(event).members()
	if event.Type != api.EventCompleted {
		t.send("error", append(who, member{"message", textValue(message)}))
	}
	if t.started {
		t.send("harness_end", who)
	}
	t.over = true
}

// raised announces the approvals of a suspension, all at once (decisions.md 24), but
// those that standing rules settle in the same moment.
func (t *teller) raised(event, next *model.Event) error {
	var body struct {
		Requests []api.ApprovalRequest `json:"requests"`
	}
	if err := json.Unmarshal(event.Body, &body); err != nil {
		return fmt.Errorf("event %d: %w", event.EventID, err)
	}
	ruled, err := t.ruled(event, next)
	if err != nil {
		return err
	}
	for i := range body.Requests {
		approval := &body.Requests[i]
		one := &prompt{from: t.from(event, approval.Metadata), handle: approval.Handle, approval: approval, shown: !ruled[approval.ID]}
		t.prompts[promptKey{event.RunID, approval.ID}] = one
		if !one.shown {
			continue
		}
		t.cut(one.from)
		_, always := t.face.always(approval, event.SessionID, event.TimestampMs)
		t.send("relay", append(one.from.members(),
			member{"kind", textValue("permission")}, member{"id", textValue(one.handle)},
			member{"toolCallId", textValue(approval.ToolCallID)}, member{"tool", textValue(approval.ToolName)},
			// What "always" would allow, to be read before it is said.
			member{"params", approval.Input}, member{"always", textValue(always)}))
	}
	return nil
}

// ruled returns the ids of the requests that rules settled when they were raised. That
// is told by the next event of the log, which was committed together with this one, so
// that it is there when this one is.
func (t *teller) ruled(event, next *model.Event) (map[string]bool, error) {
	if next == nil {
		events, err := t.face.Store.SessionEvents(t.ctx, event.SessionID, event.EventID, 1)
		if err != nil || len(events) == 0 {
			return nil, err
		}
		next = &events[0]
	}
	if next.Type != api.EventApprovalResolved || next.RunID != event.RunID {
		return nil, nil
	}
	resolutions, err := resolutionsOf(next)
	if err != nil {
		return nil, err
	}
	ruled := map[string]bool{}
	for i := range resolutions {
		if strings.HasPrefix(resolutions[i].Via, api.ViaRule) {
			ruled[resolutions[i].RequestID] = true
		}
	}
	return ruled, nil
}

func resolutionsOf(event *model.Event) ([]api.Resolution, error) {
	var body struct {
		Resolutions []api.Resolution `json:"resolutions"`
	}
	if err := json.Unmarshal(event.Body, &body); err != nil {
		return nil, fmt.Errorf("event %d: %w", event.EventID, err)
	}
	return body.Resolutions, nil
}

// resolved tells what became of approvals. The result of a call that may not run is
// sent here and now, whoever decided so, and by what way.
func (t *teller) resolved(event *model.Event) error {
	resolutions, err := resolutionsOf(event)
	if err != nil {
		return err
	}
	for i := range resolutions {
		resolution := &resolutions[i]
		key := promptKey{event.RunID, resolution.RequestID}
		one := t.prompts[key]
		if one == nil || one.approval == nil {
			continue
		}
		delete(t.prompts, key)
		if one.shown {
			if err := t.settled("relay_resolved", one, resolution); err != nil {
				return err
			}
		}
		call := promptKey{event.RunID, one.approval.ToolCallID}
		if resolution.Outcome == api.OutcomeAllowed {
			delete(t.denied, call)
			continue
		}
		t.denied[call] = true
		t.cut(one.from)
		output, err := json.Marshal(deniedOutput{"denied", denialReason(resolution)})
		if err != nil {
			return err
		}
		t.send("tool_result", append(one.from.members(),
			member{"id", textValue(one.approval.ToolCallID)}, member{"name", textValue(one.approval.ToolName)}, member{"output", output}))
	}
	return nil
}

// deniedOutput is the result of a call that may not run, as the original gives it:
// without a reason when nobody gave one.
type deniedOutput struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func denialReason(resolution *api.Resolution) string {
	switch {
	case resolution.Outcome == api.OutcomeExpired:
		return string(api.OutcomeExpired)
	case resolution.Reason != "":
		return resolution.Reason
	case resolution.Justification != "":
		return resolution.Justification
	case resolution.Outcome == api.OutcomeCancelled:
		return string(api.OutcomeCancelled)
	default:
		return ""
	}
}

// asked announces questions. The protocol has none, so its clients skip the frame; it
// is there so that nobody has to guess why the run waits.
func (t *teller) asked(event *model.Event) error {
	var body struct {
		Requests []api.UserQuestionRequest `json:"requests"`
	}
	if err := json.Unmarshal(event.Body, &body); err != nil {
		return fmt.Errorf("event %d: %w", event.EventID, err)
	}
	for i := range body.Requests {
		question := &body.Requests[i]
		shown, err := json.Marshal(question)
		if err != nil {
			return err
		}
		one := &prompt{from: t.from(event, question.Metadata), handle: question.Handle, shown: true}
		t.prompts[promptKey{event.RunID, question.ID}] = one
		t.cut(one.from)
		t.send("question", append(one.from.members(), member{"id", textValue(one.handle)}, member{"request", shown}))
	}
	return nil
}

func (t *teller) answered(event *model.Event) error {
	var body struct {
		Resolution api.Resolution `json:"resolution"`
	}
	if err := json.Unmarshal(event.Body, &body); err != nil {
		return fmt.Errorf("event %d: %w", event.EventID, err)
	}
	key := promptKey{event.RunID, body.Resolution.RequestID}
	one := t.prompts[key]
	if one == nil {
		return nil
	}
	delete(t.prompts, key)
	return t.settled("question_resolved", one, &body.Resolution)
}

// settled tells that a prompt is settled, and all that was recorded about it: some of
// that this protocol has no words for.
func (t *teller) settled(name string, one *prompt, resolution *api.Resolution) error {
	shown, err := json.Marshal(resolution)
	if err != nil {
		return err
	}
	t.send(name, append(one.from.members(), member{"id", textValue(one.handle)}, member{"resolution", shown}))
	return nil
}

// debug tells the log what was left out of the stream.
func (t *teller) debug(text string, event *model.Event) {
	t.face.Logger.LogAttrs(t.ctx, slog.LevelDebug, "relay", slog.String("left_out", text),
		slog.String("session_id", event.SessionID), slog.Int64("event_id", event.EventID), slog.String("type", string(event.Type)))
}
