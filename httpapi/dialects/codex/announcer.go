package codex

import (
	"context"
	"math"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Types of a socket's frames (docs/spec/codex.md#websocket-events).
const (
	typeApproval          = "approval"
	typeApprovalResolved  = "approval_resolved"
	typeToolInput         = "tool_user_input_requested"
	typeToolInputResolved = "tool_user_input_resolved"
)

// frame is a message about a thread.
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

// Cache sizes of an announcer, and how long it caches whether a session is a system session.
const (
	maxAnnouncements = 256
	maxHandles       = 8_192
	maxSessions      = 4_096
	sessionAge       = 5 * time.Second
	readTimeout      = 10 * time.Second
)

// announcer converts events to frames, once for all sockets. Its caches can be rebuilt.
type announcer struct {
	services kit.Services

	announcements *lru.Cache[eventKey, *announcement]
	handles       *lru.Cache[requestKey, handleAndKind]
	systems       *lru.Cache[string, systemFlag]
}

type (
	// eventKey includes the digest, because a database that lost events reuses their ids.
	eventKey struct {
		sessionID  string
		eventID    int64
		bodyDigest string
	}
	requestKey struct{ runID, requestID string }
	// handleAndKind is the part of a settled request that the log does not contain. raisedAtMs distinguishes runs
	// that had the same id, of which the earlier one was deleted.
	handleAndKind struct {
		handle     string
		kind       model.RequestKind
		raisedAtMs int64
	}
	systemFlag struct {
		system bool
		until  time.Time
	}
)

// announcement holds the frames of an event. The first socket creates them.
type announcement struct {
	once   sync.Once
	frames [][]byte
	err    error
}

func newAnnouncer(services kit.Services) *announcer {
	return &announcer{
		services: services, announcements: newCache[eventKey, *announcement](maxAnnouncements),
		handles: newCache[requestKey, handleAndKind](maxHandles), systems: newCache[string, systemFlag](maxSessions),
	}
}

func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic(err) // a size that is not positive
	}
	return cache
}

// frames returns the messages about an event. Sockets share them. After an error the next caller
// retries.
func (a *announcer) frames(event *model.Event) ([][]byte, error) {
	key, made := eventKey{event.SessionID, event.EventID, event.BodyDigest}, &announcement{}
	if known, found, _ := a.announcements.PeekOrAdd(key, made); found {
		made = known
	}
	made.once.Do(func() { made.frames, made.err = a.translate(event) })
	if current, _ := a.announcements.Peek(key); made.err != nil && current == made {
		a.announcements.Remove(key)
	}
	return made.frames, made.err
}

func (a *announcer) translate(event *model.Event) ([][]byte, error) {
	change, err := kit.ChangeOf(event)
	if err != nil {
		return nil, err
	}
	var frames [][]byte
	add := func(frameType string, payload any) {
		frames = append(frames, kit.Encode(frame{frameType, event.SessionID, payload}))
	}
	for i := range change.Approvals {
		approval := &change.Approvals[i]
		a.handles.Add(requestKey{event.RunID, approval.ID}, handleAndKind{approval.Handle, model.KindApproval, event.TimestampMs})
		shown := pendingApproval(event.SessionID, event.RunID, approval)
		signal := signalOf(shown.Method, shown.ApprovalID, shown.ThreadID, shown.TurnID, shown.CreatedAt, shown.Details)
		add(signal.EventType, signal)
		add(typeApproval, shown)
	}
	for i := range change.Questions {
		question := &change.Questions[i]
		a.handles.Add(requestKey{event.RunID, question.ID}, handleAndKind{question.Handle, model.KindQuestion, event.TimestampMs})
		shown := pendingToolInput(event.SessionID, event.RunID, question)
		signal := signalOf(shown.Method, shown.RequestID, shown.ThreadID, shown.TurnID, shown.CreatedAt, shown.Details)
		add(signal.EventType, signal)
		add(typeToolInput, shown)
	}
	submittedAtMs := sync.OnceValues(func() (int64, error) { return a.submittedAtMs(event.RunID) })
	for i := range change.Resolutions {
		resolution := &change.Resolutions[i]
		request, err := a.handleOf(requestKey{event.RunID, resolution.RequestID}, submittedAtMs)
		if err != nil {
			return nil, err
		}
		switch request.kind {
		case model.KindApproval:
			add(typeApprovalResolved, approvalResolved{request.handle, settledApproval(resolution)})
		case model.KindQuestion:
			add(typeToolInputResolved, toolInputResolved{request.handle, settledAs(resolution)})
		case model.KindClarification: // shown as the question in the parent's session
		}
	}
	return frames, nil
}

// submittedAtMs is when the run that has an id now was submitted; 0 if it was deleted meanwhile.
func (a *announcer) submittedAtMs(runID string) (int64, error) {
	ctx, cancel := a.readContext()
	defer cancel()
	run, _, err := a.services.Store.Reader(ctx).SettledAfter(ctx, runID, math.MaxInt64)
	switch {
	case refusal.CodeOf(err) == api.CodeRunNotFound:
		return 0, nil
	case err != nil:
		return 0, err
	}
	return run.SubmittedAtMs, nil
}

// handleOf returns the handle of a settled request of a run. A request raised before this process listened
// is read from the run.
func (a *announcer) handleOf(key requestKey, submittedAtMs func() (int64, error)) (handleAndKind, error) {
	if known, found := a.handles.Get(key); found {
		from, err := submittedAtMs()
		if err != nil {
			return handleAndKind{}, err
		}
		a.handles.Remove(key) // a request is settled once
		if known.raisedAtMs >= from {
			return known, nil
		}
	}
	ctx, cancel := a.readContext()
	defer cancel()
	record, err := a.services.Store.Reader(ctx).Run(ctx, key.runID)
	if err != nil {
		return handleAndKind{}, err
	}
	for i := range record.Requests {
		if request := &record.Requests[i]; request.RequestID == key.requestID {
			return handleAndKind{request.Handle, request.Kind, request.CreatedAtMs}, nil
		}
	}
	// The run has been suspended again since.
	for request, err := range reads.Settled(ctx, a.services.Store.Reader(ctx), key.runID) {
		if err != nil {
			return handleAndKind{}, err
		}
		if request.RequestID == key.requestID {
			return handleAndKind{request.Handle, request.Kind, request.CreatedAtMs}, nil
		}
	}
	return handleAndKind{}, nil
}

// isSystem reports whether a session is announced only to its exact subscribers.
func (a *announcer) isSystem(sessionID string) (bool, error) {
	if system, known := a.knownSystem(sessionID); known {
		return system, nil
	}
	ctx, cancel := a.readContext()
	defer cancel()
	session, err := a.services.Store.Reader(ctx).SessionHead(ctx, sessionID)
	if flag, found := a.systems.Get(sessionID); found && refusal.CodeOf(err) == api.CodeSessionNotFound {
		return flag.system, nil // deleted, with its runs, since it was read
	}
	if err != nil {
		return false, err
	}
	return a.keepSystem(session), nil
}

// knownSystem reports whether a session is a system session if it was read within the last sessionAge.
func (a *announcer) knownSystem(sessionID string) (system, known bool) {
	flag, found := a.systems.Get(sessionID)
	known = found && kit.Now().Before(flag.until)
	return known && flag.system, known
}

// keepSystem caches whether a session is a system session, and returns it.
func (a *announcer) keepSystem(session *model.Session) bool {
	system := isSystem(session)
	a.systems.Add(session.SessionID, systemFlag{system, kit.Now().Add(sessionAge)})
	return system
}

// readContext limits a read whose result several sockets share.
func (a *announcer) readContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.services.Draining, readTimeout)
}
