package relay

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Reasons for the end of a stream.
var (
	errReaderGone = errors.New("the client takes no more")
	errRunOver    = errors.New("the run is over")
)

// requestKey identifies a request or a tool call in a session.
type requestKey struct{ runID, id string }

// openPrompt is a request that was raised but not settled.
type openPrompt struct {
	origin origin
	handle string
	// approval is nil for a question.
	approval *api.ApprovalRequest
	// shown is false for an approval that a rule settled when it was raised.
	shown bool
	// ofChild: a session below the chat's asks.
	ofChild bool
}

// chatStream writes the events of one chat's session as frames (docs/spec/relay.md#frames). It is
// the subscription's sink; one goroutine uses it.
type chatStream struct {
	ctx  context.Context //nolint:containedctx // the request's context, for reads in the sink
	face *face
	chat *chat
	out  *stream.Writer

	unwritten []byte // frames
	started   bool
	prompts   map[requestKey]*openPrompt
	below     *kit.Below
	// deniedCalls are the tool calls whose result was sent with the denial.
	deniedCalls map[requestKey]bool
	// textBlocks are the unfinished texts of agents, by run id.
	textBlocks map[string]textBlock

	runOver, readerGone bool
}

func newChatStream(ctx context.Context, f *face, c *chat, out *stream.Writer) *chatStream {
	return &chatStream{
		ctx: ctx, face: f, chat: c, out: out,
		below:   f.FollowBelow(model.KindApproval, c.sessionID),
		prompts: map[requestKey]*openPrompt{}, deniedCalls: map[requestKey]bool{}, textBlocks: map[string]textBlock{},
	}
}

// connect sends the first frame.
func (s *chatStream) connect() error {
	s.add("connected", kit.Object{kit.MemberOf("sessionId", s.chat.sessionID)})
	return s.flush()
}

// KeepAlive implements [stream.Sink].
func (s *chatStream) KeepAlive() error {
	s.lookBelow()
	s.unwritten = append(s.unwritten, kit.KeepAlive...)
	return s.flush()
}

// Events implements [stream.Sink]. It also returns an error when the run is over: nothing else of
// the session belongs on this stream.
func (s *chatStream) Events(events []*model.Event) error {
	for i, event := range events {
		var next *model.Event
		if i+1 < len(events) {
			next = events[i+1]
		}
		if err := s.translate(event, next); err != nil {
			if s.ctx.Err() == nil {
				s.logFailure(s.ctx, "translate an event", err)
			}
			return errors.Join(err, s.flush())
		}
		if s.runOver {
			break
		}
	}
	if !s.runOver && s.below.Due() {
		s.lookBelow()
	}
	if err := s.flush(); err != nil {
		return err
	}
	if s.runOver {
		return errRunOver
	}
	return nil
}

func (s *chatStream) flush() error {
	if len(s.unwritten) == 0 {
		return nil
	}
	_, err := s.out.Write(s.unwritten)
	s.unwritten = s.unwritten[:0]
	if err != nil || s.out.Flush() != nil {
		s.readerGone = true
		return errReaderGone
	}
	return nil
}

// add adds a frame. Its type is the first member of its data.
func (s *chatStream) add(name string, members kit.Object) {
	data := append(kit.Object{kit.MemberOf("type", name)}, members...).JSON()
	s.unwritten = kit.AppendFrame(s.unwritten, "event: "+name, data)
}

// translate adds the frames of one event. The next event is nil when it is unknown.
func (s *chatStream) translate(event, next *model.Event) error {
	change, err := kit.ChangeOf(event)
	if err != nil {
		return err
	}
	// A child's question has its own run in this session.
	if event.RunID != s.chat.state.RunID && !s.aboutQuestion(event.Type) {
		return nil
	}
	switch event.Type { //nolint:exhaustive // the service's other events are not shown
	case api.EventStarted:
		if !s.started {
			s.started = true
			s.add("harness_start", runOrigin(event).members())
		}
		return nil
	case api.EventWaitingForApproval:
		return s.raiseApprovals(event, next, change.Approvals)
	case api.EventWaitingForUserQuestion:
		s.raiseQuestions(event, change.Questions)
		return nil
	case api.EventApprovalResolved, api.EventUserQuestionResolved, api.EventParentClarificationResolved:
		for i := range change.Resolutions {
			s.settlePrompt(event.RunID, &change.Resolutions[i])
		}
		return nil
	case api.EventCompleted, api.EventFailed, api.EventInterrupted, api.EventCancelled:
		s.endRun(event)
		return nil
	default:
		if !model.ByService(event.Type) {
			s.workerEvent(event)
		}
		return nil
	}
}

func (s *chatStream) aboutQuestion(name api.EventType) bool {
	return name == api.EventWaitingForUserQuestion || name == api.EventUserQuestionResolved || name == api.EventParentClarificationResolved
}

// endRun adds the end of the run, with the reason when it did not complete.
func (s *chatStream) endRun(event *model.Event) {
	var body struct {
		Error  string `json:"error"`
		Reason string `json:"reason"`
	}
	_ = kit.Decode(event.Body, &body) // an invalid body has no reason
	message := body.Error
	if event.Type == api.EventInterrupted || event.Type == api.EventCancelled {
		message = "the run was " + string(event.Type)
		if body.Reason != "" {
			message += ": " + body.Reason
		}
	}
	members := runOrigin(event).members()
	if event.Type != api.EventCompleted {
		s.add("error", append(members, kit.MemberOf("message", message)))
	}
	if s.started {
		s.add("harness_end", members)
	}
	s.runOver = true
}

// logFailure logs a failure of the service that no reply can show.
func (s *chatStream) logFailure(ctx context.Context, message string, err error) {
	s.face.logFailure(ctx, s.chat, message, err)
}

func (f *face) logFailure(ctx context.Context, c *chat, message string, err error) {
	f.Logger.LogAttrs(ctx, slog.LevelError, "relay", slog.String("failed", message),
		slog.String("session_id", c.sessionID), slog.String("error", err.Error()))
}

// logSkipped logs an event that was left out of the stream.
func (s *chatStream) logSkipped(reason string, event *model.Event) {
	s.face.Logger.LogAttrs(s.ctx, slog.LevelDebug, "relay", slog.String("skipped", reason),
		slog.String("session_id", event.SessionID), slog.Int64("event_id", event.EventID), slog.String("type", string(event.Type)))
}
