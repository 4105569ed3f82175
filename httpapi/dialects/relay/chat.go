package relay

import (
	"context"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// The creator in the summary of a chat's run.
const (
	sourcePlugin = "relay"
	sourceKind   = "chat"
)

// closeTimeout limits how long recording a client's disconnect, or the end of a refused chat, may take.
const closeTimeout = 10 * time.Second

// reasonRefused is why the session of a refused chat has ended.
const reasonRefused = "the chat was refused"

// chat is the content of a body.
type chat struct {
	sessionID string
	state     chatState
	input     api.JSON
	rules     []*runs.AddRule
	actor     runs.Actor
}

// startChat starts a run in its own session and streams it (docs/spec/relay.md#start-a-chat).
func (f *face) startChat(w http.ResponseWriter, r *http.Request) error {
	body, err := f.readObject(w, r)
	if err != nil {
		return err
	}
	chat, err := f.readChat(r, body)
	if err != nil {
		return err
	}
	if err := wire.Hold(r.Context()); err != nil {
		return err
	}
	// Join first, so that no run is created whose stream would be refused.
	subscription, err := f.Streams.Join(chat.sessionID)
	if err != nil {
		return err
	}
	defer subscription.Close()
	if err := f.createChat(r.Context(), chat); err != nil {
		return err
	}
	s := newChatStream(r.Context(), f, chat, stream.Begin(w, "text/event-stream", f.StreamWriteTimeout))
	ended := f.followed.begin(chat.sessionID)
	defer func() { ended(s.runOver && !s.readerGone) }()
	defer f.closeIfLeft(r.Context(), s)
	if s.connect() == nil {
		subscription.Deliver(s.ctx, stream.From{}, s)
	}
	return nil
}

// readChat reads a chat's body. Members that the dialect does not use become the run's input.
func (f *face) readChat(r *http.Request, body kit.Object) (*chat, error) {
	if !truthy(body.Get("model")) || !truthy(body.Get("messages")) {
		return nil, errChatIncomplete
	}
	actor, err := f.Actor(r)
	if err != nil {
		return nil, err
	}
	c := &chat{sessionID: kit.NewSessionID(r.Context()), actor: actor}
	c.state.RunID = runs.NewID(runs.PrefixRun)
	switch document.Kind(body.Get("detached")) {
	case 't':
		c.state.Detached = true
	case 'f', 'n', 0:
	default:
		return nil, refuse("detached must be true or false")
	}
	if c.rules, err = f.rulesOf(body.Get("permissions"), c.sessionID, actor); err != nil {
		return nil, err
	}
	input := make(kit.Object, 0, len(body))
	for _, member := range body {
		if member.Name != "permissions" && member.Name != "detached" {
			input = append(input, member)
		}
	}
	c.input = input.JSON()
	return c, nil
}

// createChat creates the session, its rules, and then the run. When one of them is refused, the session that it
// has created is ended.
func (f *face) createChat(ctx context.Context, c *chat) error {
	if caller := auth.From(ctx); caller != nil && len(c.rules) > 0 {
		if err := caller.Check(auth.WriteRule); err != nil {
			return err
		}
	}
	commands := []runs.Command{&runs.CreateSession{SessionID: c.sessionID, AgentID: f.agentID, Metadata: c.state.metadata()}}
	for _, rule := range c.rules {
		commands = append(commands, rule)
	}
	commands = append(commands, &runs.CreateRun{
		SessionID: c.sessionID, SessionGiven: true, RunID: c.state.RunID, Input: c.input, AgentID: f.agentID,
		SourcePlugin: sourcePlugin, SourceKind: sourceKind, ActorID: c.actor.Name, Caller: c.actor.Name,
	})
	for i, command := range commands {
		if _, err := f.Store.Do(ctx, command); err != nil {
			if i > 0 {
				f.endRefused(ctx, c)
			}
			return err
		}
	}
	return nil
}

// endRefused ends the session of a chat that was refused, which revokes its rules: a client that tries again gets
// another session. It acts for the service, because the caller of a chat may not be allowed to end sessions.
func (f *face) endRefused(request context.Context, c *chat) {
	ctx, cancel := context.WithTimeout(auth.With(context.WithoutCancel(request), nil), closeTimeout)
	defer cancel()
	if _, err := f.Store.Do(ctx, &runs.EndSession{SessionID: c.sessionID, Reason: reasonRefused, Actor: c.actor}); err != nil {
		f.logFailure(ctx, c, "end a refused chat", err)
	}
}

// closeIfLeft records that the client disconnected, so that its relays are gone on every replica.
// The run continues, and people may still decide through other APIs. When the service ended the
// stream (drain, failed read, crash), the relays stay answerable: a late answer from the person who
// was asked is better than none.
func (f *face) closeIfLeft(request context.Context, s *chatStream) {
	left := s.readerGone || request.Err() != nil
	if s.chat.state.Detached || s.runOver || !left || f.Draining.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(request), closeTimeout)
	defer cancel()
	closed := s.chat.state
	var err error
	if closed.ClosedAtMs, err = f.Store.NowMs(ctx); err == nil {
		_, err = f.Store.Do(ctx, &runs.AmendSession{SessionID: s.chat.sessionID, Metadata: closed.metadata()})
	}
	if err != nil {
		s.logFailure(ctx, "close a chat", err)
	}
}
