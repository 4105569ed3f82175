package stream

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Reasons of gaps in the inbox.
const (
	// GapMissed: this process may have missed changes.
	GapMissed = "missed"
	// GapSlow: the reader was too far behind.
	GapSlow = "slow"
)

// InboxSink receives the inbox's stream. An error says that the reader stopped, and ends the
// stream. Methods must not block forever, and must flush their output before they return. The
// arguments are shared: do not modify them.
type InboxSink interface {
	// Snapshot is called first, and again after each Gap.
	Snapshot(snapshot *InboxSnapshot) error
	// Gap says why events are missing here: GapMissed or GapSlow. A snapshot follows.
	Gap(reason string) error
	// Events receives at least one event about requests (see model.AboutRequest), in order within a
	// session. Some may be repeated from the snapshot or earlier events. Then all later events of
	// their session are repeated in the same call, so a reader that applies a call's events in
	// order never ends up with a settled request.
	Events(events []*model.Event) error
	// KeepAlive is called after [Options].KeepAlive without output.
	KeepAlive() error
}

// InboxSubscription is a caller's subscription to the inbox.
type InboxSubscription struct {
	hub   *Hub
	inbox *inbox
	scope reads.Scope
	// first is the snapshot that Open waited for.
	first *snapshotCall
}

// JoinInbox subscribes to the inbox: the requests of all sessions in the caller's scope. The caller
// must close the subscription. Errors: as [Hub.Join].
func (h *Hub) JoinInbox(ctx context.Context) (*InboxSubscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.enter(); err != nil {
		return nil, err
	}
	if h.inbox == nil {
		h.inbox = startInbox(h)
	}
	h.inbox.users++
	return &InboxSubscription{hub: h, inbox: h.inbox, scope: h.options.Scope(ctx)}, nil
}

// Close ends the subscription, and the inbox with its last subscription. Call it once.
func (s *InboxSubscription) Close() {
	if last := s.hub.leave(&s.inbox.users, func() { s.hub.inbox = nil }); last {
		s.inbox.stop()
	}
}

// Open waits for the first snapshot, for callers that answer with its error. Call it at most once,
// before Deliver or Follow. Errors: ctx's; [runs.ErrClosed]; errors of the store.
func (s *InboxSubscription) Open(ctx context.Context) error {
	s.first = s.inbox.requestSnapshot()
	select {
	case <-s.first.done:
		return s.first.err
	case <-s.hub.options.Done:
		return runs.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Deliver passes a snapshot and then the events to a sink until ctx ends, the hub is done, or the
// sink stops. While the database is unavailable it only sends keep-alives.
func (s *InboxSubscription) Deliver(ctx context.Context, sink InboxSink) {
	s.serve(ctx, &inboxSinkWriter{sink})
}

// InboxFrames says what the frames of /v1 have.
type InboxFrames struct {
	// Caller and Actor are who sees the requests. Without a Caller nothing says whether they may decide.
	Caller *auth.Identity
	Actor  runs.Actor
	// Summary truncates the inputs of approvals.
	Summary bool
	// Viewing adds who has which requests open, without this principal. Nil adds nothing.
	Viewing *string
}

// Follow is Deliver with the frames of /v1.
func (s *InboxSubscription) Follow(ctx context.Context, out Out, with InboxFrames) {
	if with.Viewing != nil {
		s.inbox.showsViewing.Add(1)
		defer s.inbox.showsViewing.Add(-1)
	}
	s.serve(ctx, &inboxFrameWriter{frameWriter: frameWriter{out}, inbox: s.inbox, with: with})
}

func (s *InboxSubscription) serve(ctx context.Context, to inboxRecipient) {
	if s.first == nil {
		s.first = s.inbox.requestSnapshot()
	}
	follower := &inboxFollower{inboxRecipient: to, inbox: s.inbox, scope: s.scope, awaited: s.first}
	s.first = nil
	if err := s.hub.follow(ctx, follower); err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		s.hub.options.Logger.LogAttrs(ctx, slog.LevelError, "stream of the inbox", slog.String("error", err.Error()))
	}
}

// inboxFollower writes the stream of the inbox.
type inboxFollower struct {
	inboxRecipient
	inbox *inbox
	scope reads.Scope
	// awaited is the snapshot that the follower waits for, nil when it has one.
	awaited *snapshotCall
	cursor  int64
}

// pass implements follower.
func (f *inboxFollower) pass(ctx context.Context) (changed <-chan struct{}, wrote, ended bool, err error) {
	if call := f.awaited; call != nil {
		select {
		case <-call.done:
		default:
			return call.done, false, false, nil
		}
		if call.snapshot == nil {
			f.awaited = f.inbox.requestSnapshot()
			return f.awaited.done, false, false, nil
		}
		f.awaited, f.cursor = nil, call.at
		snapshot, err := f.snapshotWithin(ctx, call.snapshot)
		if err != nil {
			return nil, false, false, err
		}
		return nil, true, false, f.snapshot(snapshot)
	}
	seen := f.inbox.after(f.cursor)
	if seen.gap != "" {
		f.awaited = f.inbox.requestSnapshot()
		return nil, true, false, f.gap(seen.gap)
	}
	if len(seen.batches) > 0 {
		f.cursor = seen.head
		batches, err := f.batchesWithin(ctx, seen.batches)
		if err != nil {
			return nil, false, false, err
		}
		if len(batches) > 0 {
			wrote = true
			if err := f.batches(batches); err != nil {
				return nil, true, false, err
			}
		}
	}
	viewed, err := f.viewed(seen.viewing, &f.scope)
	return seen.changed, wrote || viewed, false, err
}

// inboxRecipient is an Out or an InboxSink. All its errors except encoding errors are errStopped.
type inboxRecipient interface {
	snapshot(snapshot *InboxSnapshot) error
	gap(reason string) error
	batches(batches []*batch) error
	// viewed writes who has which requests open in a scope, if there is something new.
	viewed(now viewing, scope *reads.Scope) (wrote bool, err error)
	keepAlive() error
}

type inboxFrameWriter struct {
	frameWriter
	inbox *inbox
	with  InboxFrames
	// viewing is the number of the last viewing, and viewingText the frame that the reader has of it.
	viewing     int64
	viewingText []byte
}

func (f *inboxFrameWriter) snapshot(snapshot *InboxSnapshot) error {
	f.viewing, f.viewingText = 0, nil
	return f.writeFrame(snapshot.frameFor(&f.with))
}

func (f *inboxFrameWriter) keepAlive() error {
	return f.writeFrame(appendFrame([]byte(keepAliveComment), "", NameKeepAlive, struct {
		NowMs int64 `json:"now_ms"`
	}{f.inbox.clock.nowMs()}))
}

func (f *inboxFrameWriter) gap(reason string) error { return f.writeFrame(AppendGap(nil, reason)) }

func (f *inboxFrameWriter) batches(batches []*batch) error {
	for _, one := range batches {
		frames := one.frames
		if f.with.Summary {
			frames = one.summaries
		}
		text, err := frames()
		if err != nil {
			return err
		}
		if _, err := f.out.Write(text); err != nil {
			return errStopped
		}
	}
	return f.flush()
}

type inboxSinkWriter struct{ sink InboxSink }

func (s *inboxSinkWriter) snapshot(snapshot *InboxSnapshot) error {
	return stopped(s.sink.Snapshot(snapshot))
}

func (s *inboxSinkWriter) gap(reason string) error { return stopped(s.sink.Gap(reason)) }

func (s *inboxSinkWriter) batches(batches []*batch) error {
	for _, one := range batches {
		if err := s.sink.Events(one.published); err != nil {
			return errStopped
		}
	}
	return nil
}

func (s *inboxSinkWriter) keepAlive() error { return stopped(s.sink.KeepAlive()) }
