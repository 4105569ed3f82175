// Package streams serves the log of sessions and runs, in pages and as streams, and the stream of the inbox. It must
// not know who caused an event.
package streams

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

type handlers struct {
	store        runs.Service
	feeds        *stream.Hub
	snapshots    singleflight.Group // of sessions, for streams
	writeTimeout time.Duration
}

// Routes returns the routes. writeTimeout is how long a stream's reader may block before its connection is closed.
func Routes(store runs.Service, feeds *stream.Hub, writeTimeout time.Duration) []wire.Route {
	h := &handlers{store: store, feeds: feeds, writeTimeout: writeTimeout}
	return []wire.Route{
		wire.Get("/v1/sessions/{session_id}/events", auth.Read, h.listSessionEvents),
		wire.Stream("/v1/sessions/{session_id}/stream", auth.Read, h.streamSession),
		wire.Get("/v1/runs/{run_id}/events", auth.Read, h.listRunEvents),
		wire.Get("/v1/runs/{run_id}/outputs", auth.Read, h.listOutputs),
		wire.Stream("/v1/runs/{run_id}/stream", auth.Read, h.streamRun),
		wire.Stream("/v1/stream", auth.Read, h.streamInbox),
	}
}

// lastEventIDHeader is the header with which a browser resumes a stream.
const lastEventIDHeader = "Last-Event-ID"

// resumption is the event after which a stream resumes.
type resumption struct {
	at model.Position
	// given is false when the caller has no events yet and needs a snapshot.
	given bool
}

// resumptionOf reads ?cursor= and Last-Event-ID and returns the one with the larger number. A
// cursor must be the id of a frame. An invalid header is ignored, because a page cannot keep its
// browser from sending it.
func resumptionOf(r *http.Request) (resumption, error) {
	var from resumption
	if at, ok := model.ParsePosition(r.Header.Get(lastEventIDHeader)); ok {
		from = resumption{at: at, given: true}
	}
	if query := wire.Query(r); query.Has("cursor") {
		at, ok := model.ParsePosition(query.Get("cursor"))
		if !ok {
			return resumption{}, refusal.New(api.CodeInvalidEventCursor, "cursor must be the id of a frame of the stream")
		}
		if !from.given || at.EventID > from.at.EventID || at.EventID == from.at.EventID && !from.at.Known() {
			from.at = at
		}
		from.given = true
	}
	return from, nil
}

// gapAfter returns why a session's log cannot be continued after a position; "" when it can. The
// position needs a mark, because the number alone does not identify the event. Callers may hold a
// slot of OnOwnStack, so it takes none.
func (h *handlers) gapAfter(ctx context.Context, head *model.Session, at model.Position) (reason string, err error) {
	switch {
	case at.EventID > head.LastEventID:
		return stream.GapAhead, nil
	case at.EventID < head.FirstKeptEventID-1, !at.Known():
		return stream.GapReset, nil
	case at.EventID == 0:
		return "", nil
	case at.EventID == head.LastEventID:
		if !at.Of(head.LastEventHash) {
			return stream.GapReset, nil
		}
		return "", nil
	}
	// The next event contains the hash of this one. The first event is returned whatever its size.
	next, _, err := h.store.Reader(ctx).EventsWithin(ctx, reads.EventQuery{SessionID: head.SessionID, Kept: true, After: at.EventID, Limit: 1, MaxBytes: 1})
	if err != nil {
		return "", err
	}
	if len(next) == 0 || next[0].EventID != at.EventID+1 || !at.JoinsOn(&next[0]) {
		return stream.GapReset, nil
	}
	return "", nil
}

func (h *handlers) streamSession(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	if !refusal.ValidID(sessionID) {
		return refusal.UnknownSession(wire.Shown(sessionID))
	}
	wanted, err := resumptionOf(r)
	if err != nil {
		return err
	}
	return h.serveStream(w, r, sessionID, func() (opening, stream.From, error) { return h.openSession(r.Context(), sessionID, wanted) })
}

// serveStream answers with a stream of a session's feed. It calls open after it has joined the
// feed, so that no event is missed between open's read and the feed. A later failure ends the
// stream, and the reader resumes after its last id.
func (h *handlers) serveStream(w http.ResponseWriter, r *http.Request, sessionID string, open func() (opening, stream.From, error)) error {
	subscription, err := h.feeds.Join(sessionID)
	if err != nil {
		return err
	}
	defer subscription.Close()
	begin, from, err := open()
	if err != nil {
		return err
	}
	out := stream.Begin(w, "text/event-stream", h.writeTimeout)
	if begin.write(out) == nil {
		subscription.Follow(r.Context(), out, from)
	}
	return nil
}

// opening is the beginning of a stream.
type opening struct {
	gap string // the reason of a gap, empty for none
	// snapshot is its frame, nil when the caller resumes after a known event. Streams may share it.
	snapshot []byte
}

// openSession returns the beginning of a session's stream and where it continues. The subscription
// must already exist.
func (h *handlers) openSession(ctx context.Context, sessionID string, wanted resumption) (opening, stream.From, error) {
	var begin opening
	if wanted.given {
		var head *model.Session
		err := h.feeds.OnOwnStack(ctx, func() (err error) {
			if head, err = h.store.Reader(ctx).SessionHead(ctx, sessionID); err != nil {
				return err
			}
			begin.gap, err = h.gapAfter(ctx, head, wanted.at)
			return err
		})
		if err != nil {
			return opening{}, stream.From{}, err
		}
		if begin.gap == "" {
			return begin, stream.From{Cursor: wanted.at.EventID, Mark: wanted.at.Mark, Closed: head.EndedAtMs != 0, End: head.LastEventID}, nil
		}
	}
	var shared singleflight.Result
	// All concurrent streams of the session share the snapshot, so check this caller's scope first.
	if scope := reads.ScopeOf(auth.From(ctx)); scope.Bounded() {
		if _, err := h.store.Reader(ctx).SessionHead(ctx, sessionID); err != nil {
			return opening{}, stream.From{}, err
		}
	}
	select {
	case shared = <-h.snapshots.DoChan(sessionID, func() (any, error) { return h.snapshotOf(ctx, sessionID) }):
	case <-ctx.Done():
		return opening{}, stream.From{}, ctx.Err()
	}
	if shared.Err != nil {
		return opening{}, stream.From{}, shared.Err
	}
	snapshot := shared.Val.(*sessionSnapshot) //nolint:forcetypeassert // the call above returns nothing else
	begin.snapshot = snapshot.frame
	newest := snapshot.newest
	return begin, stream.From{Cursor: newest.EventID, Mark: newest.Mark, Closed: snapshot.ended, End: newest.EventID}, nil
}

// sessionSnapshot is a session as of its newest event. All streams opened during its read share it.
// Later events come from the log.
type sessionSnapshot struct {
	frame  []byte
	newest model.Position
	ended  bool
}

// snapshotOf ignores the context's end and caller, because other streams wait for it as well. It
// returns a panic as an error, because it runs in its own goroutine.
func (h *handlers) snapshotOf(ctx context.Context, sessionID string) (snapshot *sessionSnapshot, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the snapshot of session %s panicked: %v", sessionID, cause)
		}
	}()
	snapshot = &sessionSnapshot{}
	ctx = auth.With(context.WithoutCancel(ctx), nil)
	err = h.feeds.OnOwnStack(ctx, func() error {
		record, err := h.store.Reader(ctx).Session(ctx, sessionID)
		if err != nil {
			return err
		}
		snapshot.newest, snapshot.ended = record.Session.Position(), record.Session.EndedAtMs != 0
		snapshot.frame, err = stream.AppendSnapshot(nil, snapshot.newest, record.View())
		return err
	})
	return snapshot, err
}

func (h *handlers) streamRun(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	wanted, err := resumptionOf(r)
	if err != nil {
		return err
	}
	// The first read only finds the feed to join. The snapshot is read after that.
	var sessionID string
	err = h.feeds.OnOwnStack(r.Context(), func() error {
		record, err := h.store.Reader(r.Context()).Run(r.Context(), runID)
		if err == nil {
			sessionID = record.Run.SessionID
		}
		return err
	})
	if err != nil {
		return err
	}
	return h.serveStream(w, r, sessionID, func() (begin opening, from stream.From, err error) {
		err = h.feeds.OnOwnStack(r.Context(), func() (err error) {
			begin, from, err = h.openRun(r, runID, wanted)
			return err
		})
		return begin, from, err
	})
}

// openRun is openSession for one run. The ids are the session's, so a cursor is ahead only when the
// session's log does not reach it.
func (h *handlers) openRun(r *http.Request, runID string, wanted resumption) (opening, stream.From, error) {
	record, err := h.store.Reader(r.Context()).Run(r.Context(), runID)
	if err != nil {
		return opening{}, stream.From{}, err
	}
	run := &record.Run
	newest, err := h.positionOf(r.Context(), run)
	if err != nil {
		return opening{}, stream.From{}, err
	}
	from := stream.From{RunID: runID, Cursor: newest.EventID, Mark: newest.Mark, Closed: model.Terminal(run.Status), End: newest.EventID}
	var begin opening
	if wanted.given {
		ctx := withoutScope(r.Context())
		session, err := h.store.Reader(ctx).SessionHead(ctx, run.SessionID)
		if err != nil {
			return opening{}, stream.From{}, err
		}
		// Deleted events from before the run are not missed.
		if wanted.at.EventID >= session.FirstKeptEventID-1 || run.FirstEventID < session.FirstKeptEventID {
			begin.gap, err = h.gapAfter(ctx, session, wanted.at)
		}
		if err != nil || begin.gap == "" {
			from.Cursor, from.Mark = run.FirstEventID-1, ""
			if wanted.at.EventID >= from.Cursor {
				from.Cursor, from.Mark = wanted.at.EventID, wanted.at.Mark
			}
			return begin, from, err
		}
	}
	begin.snapshot, err = stream.AppendSnapshot(nil, newest, record.View())
	return begin, from, err
}

// withoutScope returns a context to compare positions of a run that the caller reaches: the ids are the session's, which
// the caller may not reach.
func withoutScope(ctx context.Context) context.Context { return auth.With(ctx, nil) }

// positionOf returns the position of a run's newest event.
func (h *handlers) positionOf(ctx context.Context, run *model.Run) (model.Position, error) {
	events, _, err := h.store.Reader(ctx).EventsWithin(ctx, reads.EventQuery{RunID: run.RunID, Kept: true, After: run.LastEventID - 1, Limit: 1, MaxBytes: 1})
	if err != nil || len(events) == 0 || events[0].EventID != run.LastEventID {
		return model.Position{EventID: run.LastEventID}, err
	}
	return events[0].Position(), nil
}

// streamInbox streams the open requests of all sessions. Events have no numbers across sessions, so
// every stream begins with a snapshot, and only the cursor's form is checked.
func (h *handlers) streamInbox(w http.ResponseWriter, r *http.Request) error {
	if err := (&paging.List{}).CheckFilters(wire.Query(r), ""); err != nil {
		return err
	}
	if _, err := resumptionOf(r); err != nil {
		return err
	}
	summary, err := wire.WantsSummary(wire.Query(r))
	if err != nil {
		return err
	}
	frames := stream.InboxFrames{Caller: auth.From(r.Context()), Summary: summary}
	if frames.Actor, err = wire.Actor(r); err != nil {
		frames.Caller = nil // a decision with these headers would be refused
	}
	viewing, err := wire.QueryFlag(wire.Query(r), "viewing")
	if err != nil {
		return err
	}
	if caller := auth.From(r.Context()); viewing && caller.May(auth.Decide) {
		frames.Viewing = &caller.Principal
	}
	subscription, err := h.feeds.JoinInbox(r.Context())
	if err != nil {
		return err
	}
	defer subscription.Close()
	if err := subscription.Open(r.Context()); err != nil {
		return err
	}
	out := stream.Begin(w, "text/event-stream", h.writeTimeout)
	if (&opening{}).write(out) == nil {
		subscription.Follow(r.Context(), out, frames)
	}
	return nil
}

func (o *opening) write(out stream.Out) error {
	first := []byte(stream.Retry)
	if o.gap != "" {
		var err error
		if first, err = stream.AppendGap(first, o.gap); err != nil {
			return err
		}
	}
	for _, text := range [][]byte{first, o.snapshot} {
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return out.Flush()
}
