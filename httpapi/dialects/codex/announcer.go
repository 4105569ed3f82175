package codex

import (
	"context"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
)

// The types of the frames of a socket.
const (
	typeApproval          = "approval"
	typeApprovalResolved  = "approval_resolved"
	typeToolInput         = "tool_user_input_requested"
	typeToolInputResolved = "tool_user_input_resolved"
)

// frame is a message about a thread (codex.md 3.6.3).
type frame struct {
	Type     string `json:"type"`
	ThreadID string `json:"threadId"`
	Payload  any    `json:"payload"`
}

type (
	approvalResolved struct {
		ApprovalID string `json:"approvalId"`
		settled
	}
	toolInputResolved struct {
		RequestID string `json:"requestId"`
		settled
	}
)

// What an announcer keeps at most, and for how long it believes what a session was.
const (
	maxAnnouncements = 256
	maxHandles       = 8_192
	maxSessions      = 4_096
	sessionAge       = 5 * time.Second
	readTimeout      = 10 * time.Second
)

// announcer turns events into frames, once for all sockets. All that it holds can be
// read again.
type announcer struct {
	services kit.Services

	mu sync.Mutex
	// announcements holds the newest, in the order of recent.
	announcements map[eventKey]*announcement
	recent        []eventKey
	handles       map[requestKey]handled
	system        map[string]systemMark
}

type (
	eventKey struct {
		sessionID string
		eventID   int64
	}
	requestKey struct{ runID, requestID string }
	// handled is a request as the log does not name it.
	handled struct {
		handle string
		kind   model.RequestKind
	}
	systemMark struct {
		system bool
		until  time.Time
	}
)

// announcement is made by the first who wants it.
type announcement struct {
	once   sync.Once
	frames [][]byte
	err    error
}

func newAnnouncer(services kit.Services) *announcer {
	return &announcer{
		services: services, announcements: map[eventKey]*announcement{},
		handles: map[requestKey]handled{}, system: map[string]systemMark{},
	}
}

// frames returns what sockets are sent about an event. They are shared.
func (a *announcer) frames(event *model.Event) ([][]byte, error) {
	one := a.announcement(eventKey{event.SessionID, event.EventID})
	one.once.Do(func() { one.frames, one.err = a.translate(event) })
	if one.err != nil {
		a.forget(eventKey{event.SessionID, event.EventID}, one)
	}
	return one.frames, one.err
}

func (a *announcer) announcement(key eventKey) *announcement {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.announcements[key]; known != nil {
		return known
	}
	if len(a.recent) == maxAnnouncements {
		delete(a.announcements, a.recent[0])
		a.recent = append(a.recent[:0], a.recent[1:]...)
	}
	one := &announcement{}
	a.announcements[key] = one
	a.recent = append(a.recent, key)
	return one
}

// forget lets the next one try again what failed.
func (a *announcer) forget(key eventKey, failed *announcement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.announcements[key] != failed {
		return
	}
	delete(a.announcements, key)
	for i := range a.recent {
		if a.recent[i] == key {
			a.recent = append(a.recent[:i], a.recent[i+1:]...)
			return
		}
	}
}

func (a *announcer) translate(event *model.Event) ([][]byte, error) {
	changes, err := changesOf(event)
	if err != nil {
		return nil, err
	}
	var frames [][]byte
	for i := range changes {
		shown, err := a.frame(event, &changes[i])
		if err != nil {
			return nil, err
		}
		if shown != nil {
			frames = append(frames, encode(shown))
		}
	}
	return frames, nil
}

// frame returns the message about a change, nil when it is about nothing that this
// dialect shows.
func (a *announcer) frame(event *model.Event, one *change) (*frame, error) {
	shown := &frame{ThreadID: event.SessionID}
	switch {
	case one.approval != nil:
		a.learn(requestKey{event.RunID, one.approval.ID}, handled{one.approval.Handle, model.KindApproval})
		shown.Type, shown.Payload = typeApproval, pendingApproval(event.SessionID, event.RunID, one.approval)
		return shown, nil
	case one.toolInput != nil:
		a.learn(requestKey{event.RunID, one.toolInput.ID}, handled{one.toolInput.Handle, model.KindQuestion})
		shown.Type, shown.Payload = typeToolInput, pendingToolInput(event.SessionID, event.RunID, one.toolInput)
		return shown, nil
	}
	request, err := a.handleOf(requestKey{event.RunID, one.settled.RequestID})
	switch {
	case err != nil:
		return nil, err
	case request.kind == model.KindApproval:
		shown.Type, shown.Payload = typeApprovalResolved, approvalResolved{request.handle, settledApproval(one.settled)}
	case request.kind == model.KindQuestion:
		shown.Type, shown.Payload = typeToolInputResolved, toolInputResolved{request.handle, settledAs(one.settled)}
	default:
		return nil, nil
	}
	return shown, nil
}

func (a *announcer) learn(key requestKey, request handled) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.handles) >= maxHandles {
		clear(a.handles)
	}
	a.handles[key] = request
}

// handleOf returns the handle of a settled request. One that was raised before this
// process listened is read from its run.
func (a *announcer) handleOf(key requestKey) (handled, error) {
	a.mu.Lock()
	known, there := a.handles[key]
	delete(a.handles, key) // a request is settled once
	a.mu.Unlock()
	if there {
		return known, nil
	}
	ctx, cancel := a.reading()
	defer cancel()
	record, err := a.services.Store.Run(ctx, key.runID)
	if err != nil {
		return handled{}, err
	}
	if found := find(record.Requests, key.requestID); found.handle != "" {
		return found, nil
	}
	// The run has gone on to another suspension since.
	_, requests, err := a.services.Store.SettledAfter(ctx, key.runID, 0)
	return find(requests, key.requestID), err
}

func find(requests []model.Request, requestID string) handled {
	for i := range requests {
		if requests[i].RequestID == requestID {
			return handled{requests[i].Handle, requests[i].Kind}
		}
	}
	return handled{}
}

// isSystem reports whether a session is for exact subscribers alone (codex.md 3.6.4).
func (a *announcer) isSystem(sessionID string) (bool, error) {
	now := time.Now() //nolint:forbidigo // how old a thing in memory is, is by the clock of this process
	a.mu.Lock()
	mark, there := a.system[sessionID]
	a.mu.Unlock()
	if there && now.Before(mark.until) {
		return mark.system, nil
	}
	ctx, cancel := a.reading()
	defer cancel()
	session, err := a.services.Store.SessionHead(ctx, sessionID)
	if err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.system) >= maxSessions {
		clear(a.system)
	}
	a.system[sessionID] = systemMark{isSystem(session), now.Add(sessionAge)}
	return isSystem(session), nil
}

// reading returns a context for reads whose result several sockets share.
func (a *announcer) reading() (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.services.Draining, readTimeout)
}
