package stream

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// The reasons of gaps in the inbox.
const (
	// GapMissed says that this process may not have heard of everything.
	GapMissed = "missed"
	// GapSlow says that the reader was too far behind.
	GapSlow = "slow"
)

// InboxSink receives what the inbox's stream is made of. An error says that the reader
// accepts no more, and ends the stream; no method may block for ever. What is made of the
// arguments must be flushed before a method returns; they are shared, and nobody may
// change them.
type InboxSink interface {
	// Snapshot is called first, and again after each Gap.
	Snapshot(snapshot *InboxSnapshot) error
	// Gap says why what follows does not join on to what came before: GapMissed or
	// GapSlow. A snapshot is next.
	Gap(reason string) error
	// Events receives events about requests (see model.AboutRequest), at least one, in
	// order within a session. Some may have been shown before, by the snapshot or as
	// events: then all that came after them in their session come again as well, in the
	// same call, so that whoever has applied a call's events in order is never left with
	// a request that is settled.
	Events(events []*model.Event) error
	// KeepAlive is called when nothing was sent for the time of [Options].KeepAlive.
	KeepAlive() error
}

// InboxSubscription is one caller's place at the inbox.
type InboxSubscription struct {
	hub   *Hub
	inbox *inbox
	scope runs.Scope
	// first is the snapshot that Open has waited for.
	first *snapshotCall
}

// JoinInbox takes a place at the inbox: the requests of all sessions that the caller of the
// context reaches. The caller must close it. Errors: as [Hub.Join].
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
	return &InboxSubscription{hub: h, inbox: h.inbox, scope: h.scope(ctx)}, nil
}

// Close gives the place up, and ends the reading when it was the last. It must be
// called once.
func (s *InboxSubscription) Close() {
	if last := s.hub.leave(&s.inbox.users, func() { s.hub.inbox = nil }); last {
		s.inbox.stop()
	}
}

// Open waits until the first snapshot has been read, for callers that answer with its
// error. It is called once, before Deliver or Follow, or not at all. Errors: that of ctx;
// [runs.ErrClosed]; those of the store.
func (s *InboxSubscription) Open(ctx context.Context) error {
	s.first = s.inbox.requestSnapshot()
	select {
	case <-s.first.done:
		return s.first.err
	case <-s.hub.done:
		return runs.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Deliver hands over a snapshot of what is open and then what happens, until ctx ends,
// the hub is done, or the sink accepts no more. While the database is away it hands over
// nothing but keep-alives.
func (s *InboxSubscription) Deliver(ctx context.Context, sink InboxSink) {
	s.serve(ctx, &inboxSinkWriter{sink})
}

// Follow is Deliver for the frames of /v1; summary cuts the inputs of approvals.
func (s *InboxSubscription) Follow(ctx context.Context, out Out, summary bool) {
	s.serve(ctx, &inboxFrameWriter{frameWriter: frameWriter{out}, inbox: s.inbox, summary: summary})
}

func (s *InboxSubscription) serve(ctx context.Context, to inboxRecipient) {
	if s.first == nil {
		s.first = s.inbox.requestSnapshot()
	}
	follower := &inboxFollower{inboxRecipient: to, inbox: s.inbox, scope: s.scope, awaited: s.first}
	s.first = nil
	if err := s.hub.follow(ctx, follower); err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		s.hub.logger.LogAttrs(ctx, slog.LevelError, "stream of the inbox", slog.String("error", err.Error()))
	}
}

// inboxFollower writes the stream of the inbox.
type inboxFollower struct {
	inboxRecipient
	inbox *inbox
	scope runs.Scope
	// awaited is the snapshot that it waits for, nil when it has one.
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
	if len(seen.batches) == 0 {
		return seen.changed, false, false, nil
	}
	f.cursor = seen.head
	batches, err := f.batchesWithin(ctx, seen.batches)
	if err != nil {
		return nil, false, false, err
	}
	if len(batches) == 0 {
		return seen.changed, false, false, nil
	}
	return seen.changed, true, false, f.batches(batches)
}

// inboxRecipient is an Out or an InboxSink as a follower sees it. All its errors but
// those of encoding are errStopped.
type inboxRecipient interface {
	snapshot(snapshot *InboxSnapshot) error
	gap(reason string) error
	batches(batches []*batch) error
	keepAlive() error
}

type inboxFrameWriter struct {
	frameWriter
	inbox   *inbox
	summary bool
}

func (f *inboxFrameWriter) snapshot(snapshot *InboxSnapshot) error {
	if f.summary {
		return f.writeFrame(snapshot.summary())
	}
	return f.writeFrame(snapshot.frame())
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
		if f.summary {
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
