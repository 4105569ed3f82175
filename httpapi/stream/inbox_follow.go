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
	// GapMissed says that something may have happened that this process did not hear of.
	GapMissed = "missed"
	// GapSlow says that the reader was too far behind.
	GapSlow = "slow"
)

// InboxSink takes what the inbox's stream is made of. An error says that the reader
// takes no more, and ends the stream; no method may block for ever. What is made of
// the arguments must be flushed before a method returns; they are shared, and nobody
// may change them.
type InboxSink interface {
	// Snapshot is called first, and again after each Gap.
	Snapshot(snapshot *InboxSnapshot) error
	// Gap says why what follows does not join on to what came before: see GapMissed and
	// GapSlow. A snapshot is next.
	Gap(reason string) error
	// Events takes events about requests (see runs.EventType.AboutRequest), at least
	// one, in order within a session. Some may have been told before, by the snapshot or
	// as events: then all that came after them in their session are told again as well,
	// in the same call, so that whoever has applied a call's events in order is never
	// left with a request that is settled.
	Events(events []*model.Event) error
	// Silence is called when nothing was sent for the time of [Options].KeepAlive.
	Silence() error
}

// InboxSubscription is one caller's place at the inbox.
type InboxSubscription struct {
	hub   *Hub
	inbox *inbox
	// first is what Open has waited for.
	first *snapshotCall
}

// JoinInbox takes a place at the inbox: the requests of all sessions. The caller must
// close it. Errors: as [Hub.Join].
func (h *Hub) JoinInbox() (*InboxSubscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.enter(); err != nil {
		return nil, err
	}
	if h.inbox == nil {
		h.inbox = startInbox(h)
	}
	h.inbox.users++
	return &InboxSubscription{hub: h, inbox: h.inbox}, nil
}

// Close gives the place up, and ends the reading when it was the last. It must be
// called once.
func (s *InboxSubscription) Close() {
	if last := s.hub.leaveInbox(s.inbox); last {
		s.inbox.stop()
	}
}

// leaveInbox reports whether nobody is left. A later JoinInbox starts anew.
func (h *Hub) leaveInbox(in *inbox) (last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.exit()
	in.users--
	if in.users > 0 {
		return false
	}
	h.inbox = nil
	return true
}

// Open waits until the first snapshot has been read, for those who want to know before
// they answer. It is called once, before Deliver or Follow, or not at all. Errors: that
// of ctx; [runs.ErrClosed]; those of the store.
func (s *InboxSubscription) Open(ctx context.Context) error {
	s.first = s.inbox.ask()
	select {
	case <-s.first.done:
		return s.first.err
	case <-s.hub.done:
		return runs.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Deliver hands over a snapshot of what is open and then what happens, until ctx
// ends, the hub is done, or the sink takes no more. While the database is away there
// is silence.
func (s *InboxSubscription) Deliver(ctx context.Context, sink InboxSink) {
	s.serve(ctx, &inboxHanded{sink})
}

// Follow is Deliver for the frames of /v1.
func (s *InboxSubscription) Follow(ctx context.Context, out Out) {
	s.serve(ctx, &inboxFramed{framed{out}})
}

func (s *InboxSubscription) serve(ctx context.Context, to inboxRecipient) {
	if err := s.follow(ctx, to); err != nil && !errors.Is(err, errStopped) {
		s.hub.logger.LogAttrs(ctx, slog.LevelError, "stream of the inbox", slog.String("error", err.Error()))
	}
}

// inboxPlace is how far a follower is.
type inboxPlace struct {
	// call is the snapshot that it waits for, nil when it has one.
	call   *snapshotCall
	cursor int64
}

func (s *InboxSubscription) follow(ctx context.Context, to inboxRecipient) error {
	place := inboxPlace{call: s.first}
	s.first = nil
	if place.call == nil {
		place.call = s.inbox.ask()
	}
	silence := s.hub.silence.after()
	for {
		changed, wrote, err := s.inbox.pass(to, &place)
		if err != nil {
			return err
		}
		if wrote {
			silence = s.hub.silence.after()
		}
		if changed == nil {
			if s.hub.isDone(ctx) {
				return nil
			}
			continue
		}
		select {
		case <-changed:
		case <-silence:
			if err := to.silence(); err != nil {
				return err
			}
			silence = s.hub.silence.after()
		case <-s.hub.done:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// pass writes what a follower sees. The channel tells when there is something else to
// see; it is nil when there may be already.
func (in *inbox) pass(to inboxRecipient, place *inboxPlace) (changed <-chan struct{}, wrote bool, err error) {
	if place.call != nil {
		select {
		case <-place.call.done:
		default:
			return place.call.done, false, nil
		}
		call := place.call
		if call.snapshot == nil {
			place.call = in.ask()
			return place.call.done, false, nil
		}
		place.call, place.cursor = nil, call.at
		return nil, true, to.snapshot(call.snapshot)
	}
	seen := in.after(place.cursor)
	if seen.gap != "" {
		place.call = in.ask()
		return nil, true, to.gap(seen.gap)
	}
	if len(seen.batches) == 0 {
		return seen.changed, false, nil
	}
	place.cursor = seen.head
	return seen.changed, true, to.batches(seen.batches)
}

// inboxRecipient is an Out or an InboxSink as a follower sees it. All its errors but
// those of encoding are errStopped.
type inboxRecipient interface {
	snapshot(snapshot *InboxSnapshot) error
	gap(reason string) error
	batches(batches []*batch) error
	silence() error
}

type inboxFramed struct{ framed }

func (f *inboxFramed) snapshot(snapshot *InboxSnapshot) error {
	text, err := snapshot.frame()
	return f.write(text, err)
}

func (f *inboxFramed) gap(reason string) error {
	text, err := AppendGap(nil, reason)
	return f.write(text, err)
}

func (f *inboxFramed) batches(batches []*batch) error {
	for _, one := range batches {
		text, err := one.frames()
		if err != nil {
			return err
		}
		if _, err := f.out.Write(text); err != nil {
			return errStopped
		}
	}
	return f.flush()
}

func (f *inboxFramed) write(text []byte, err error) error {
	if err != nil {
		return err
	}
	if _, err := f.out.Write(text); err != nil {
		return errStopped
	}
	return f.flush()
}

type inboxHanded struct{ sink InboxSink }

func (h *inboxHanded) snapshot(snapshot *InboxSnapshot) error {
	return stopped(h.sink.Snapshot(snapshot))
}

func (h *inboxHanded) gap(reason string) error { return stopped(h.sink.Gap(reason)) }

func (h *inboxHanded) batches(batches []*batch) error {
	for _, one := range batches {
		if err := h.sink.Events(one.events); err != nil {
			return errStopped
		}
	}
	return nil
}

func (h *inboxHanded) silence() error { return stopped(h.sink.Silence()) }
