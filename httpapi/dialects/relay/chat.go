package relay

import (
	"context"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Who asked for a chat's run, in its summary.
const (
	sourcePlugin = "relay"
	sourceKind   = "chat"
)

// closePatience bounds how long it may take to write down that a client has left. By
// then there is no request any more that could bound it.
const closePatience = 10 * time.Second

// begun is a chat as its body asked for it.
type begun struct {
	sessionID string
	mark      mark
	input     api.JSON
	rules     []*runs.AddRule
	who       runs.Actor
}

// chat starts a run in a session of its own and streams it.
func (f *face) chat(w http.ResponseWriter, r *http.Request) error {
	body, err := f.readObject(w, r)
	if err != nil {
		return err
	}
	chat, err := f.chatOf(r, body)
	if err != nil {
		return err
	}
	// The place is taken before anything is written, so that nothing is left behind
	// where there is no room for the stream.
	subscription, err := f.Streams.Join(chat.sessionID)
	if err != nil {
		return err
	}
	defer subscription.Close()
	if err := f.start(r.Context(), chat); err != nil {
		return err
	}
	out := stream.Begin(w, "text/event-stream", f.StreamWriteTimeout)
	told := newTeller(r.Context(), f, chat, out)
	defer func() { f.leave(r.Context(), chat, told) }()
	if told.connect() == nil {
		subscription.Deliver(told.ctx, stream.From{}, told)
	}
	return nil
}

// chatOf reads the body of a chat. What is left of it without the members that are
// this face's own is the run's input.
func (f *face) chatOf(r *http.Request, body object) (*begun, error) {
	if !truthy(body.get("model")) || !truthy(body.get("messages")) {
		return nil, errChatIncomplete
	}
	who, err := actor(r)
	if err != nil {
		return nil, err
	}
	chat := &begun{sessionID: runs.NewID(runs.PrefixSession), who: who}
	chat.mark.RunID = runs.NewID(runs.PrefixRun)
	switch detached := body.get("detached"); document.Kind(detached) {
	case 't':
		chat.mark.Detached = true
	case 'f', 'n', 0:
	default:
		return nil, &faceError{http.StatusBadRequest, "detached must be true or false"}
	}
	if chat.rules, err = f.rulesOf(body.get("permissions"), chat.sessionID, who); err != nil {
		return nil, err
	}
	input := make(object, 0, len(body))
	for _, one := range body {
		if one.name != "permissions" && one.name != "detached" {
			input = append(input, one)
		}
	}
	chat.input, err = input.encode()
	return chat, err
}

// start makes the session, its rules, and then the run. When it fails half-way there
// is no run, and so nothing that the session or its rules could do.
func (f *face) start(ctx context.Context, chat *begun) error {
	marked, err := chat.mark.metadata()
	if err != nil {
		return err
	}
	if _, err := f.Store.Do(ctx, &runs.CreateSession{SessionID: chat.sessionID, AgentID: f.agentID, Metadata: marked}); err != nil {
		return err
	}
	for _, rule := range chat.rules {
		if _, err := f.Store.Do(ctx, rule); err != nil {
			return err
		}
	}
	_, err = f.Store.Do(ctx, &runs.CreateRun{
		SessionID: chat.sessionID, SessionGiven: true, RunID: chat.mark.RunID, Input: chat.input, AgentID: f.agentID,
		SourcePlugin: sourcePlugin, SourceKind: sourceKind, ActorID: chat.who.Name, Caller: chat.who.Name,
	})
	return err
}

// leave writes down that the client has left, so that its relays are gone for every
// replica (decisions.md 24). The run goes on and its waits stay open on the other
// faces. A stream that ended through no doing of its client's, because the service went
// away or could not read, leaves the relays answerable, and so does a process that dies:
// an answer from the person who was asked is never worse than none.
func (f *face) leave(request context.Context, chat *begun, told *teller) {
	left := told.gone || request.Err() != nil
	if chat.mark.Detached || told.over || !left || f.Draining.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(request), closePatience)
	defer cancel()
	if err := f.closeChat(ctx, chat); err != nil {
		f.logFailure(ctx, "close a chat", chat.sessionID, err)
	}
}

func (f *face) closeChat(ctx context.Context, chat *begun) error {
	closed := chat.mark
	var err error
	if closed.ClosedAtMs, err = f.Store.NowMs(ctx); err != nil {
		return err
	}
	marked, err := closed.metadata()
	if err != nil {
		return err
	}
	_, err = f.Store.Do(ctx, &runs.AmendSession{SessionID: chat.sessionID, Metadata: marked})
	return err
}
