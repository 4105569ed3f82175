package timbal

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Limits of the list of events (docs/spec/timbal.md#run-log).
const (
	defaultEvents = 500
	maxEvents     = 2_000
	maxWaitMs     = 30_000
)

type numberedEvent struct {
	Seq  int64    `json:"seq"`
	Data api.JSON `json:"data"`
}

type eventList struct {
	RunID      string          `json:"run_id"`
	Events     []numberedEvent `json:"events"`
	NextCursor int64           `json:"next_cursor"`
	Done       bool            `json:"done"`
	Expired    bool            `json:"expired"`
}

// events lists a stream's events. The call may be held until there are more.
func (f *face) events(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	after, err := queryNumber(query, "after", 0, 0, 1<<53)
	if err != nil {
		return err
	}
	limit, err := queryNumber(query, "limit", defaultEvents, 1, maxEvents)
	if err != nil {
		return err
	}
	waitMs, err := queryNumber(query, "wait_ms", 0, 0, maxWaitMs)
	if err != nil {
		return err
	}
	shown := wire.PathID(r, "run_id")
	id, record, err := f.find(r.Context(), shown)
	var cut bool
	if err == nil {
		cut, err = f.isShortened(r.Context(), &record.Run)
	}
	if refusal.CodeOf(err) == api.CodeRunNotFound || err == nil && (cut || id.refused()) {
		return wire.Respond(w, r, http.StatusOK, eventList{
			RunID: wire.Shown(shown), Events: []numberedEvent{}, NextCursor: after, Done: true, Expired: true,
		})
	}
	if err != nil {
		return err
	}
	s, err := f.segmentFrom(r.Context(), id, record, after)
	if err != nil {
		return err
	}
	list := eventList{RunID: shown, Events: []numberedEvent{}, NextCursor: after}
	var more bool
	size := 0
	enough := func() bool {
		for _, frame := range s.takeFrames() {
			switch {
			case frame.seq <= after || more:
			case int64(len(list.Events)) == limit, size > 0 && size+len(frame.data) > api.MaxReplyBytes:
				more = true
			default:
				list.Events = append(list.Events, numberedEvent{frame.seq, frame.data})
				list.NextCursor = frame.seq
				size += len(frame.data)
			}
		}
		f.outlines.note(keyOf(id, record), s)
		return s.finished || more || int64(len(list.Events)) == limit
	}
	err = f.readLog(r.Context(), s, enough)
	if err == nil && !enough() && len(list.Events) == 0 && waitMs > 0 {
		err = f.awaitSegment(r.Context(), s, time.Duration(waitMs)*time.Millisecond, func() bool { return enough() || len(list.Events) > 0 })
	}
	if err != nil {
		return err
	}
	list.Done = s.finished && !more
	return wire.Respond(w, r, http.StatusOK, list)
}

// isShortened reports whether the first events of a run were deleted: the rest follows soon. Only
// finished runs lose events.
func (f *face) isShortened(ctx context.Context, run *model.Run) (bool, error) {
	if !model.Terminal(run.Status) {
		return false, nil
	}
	// The caller may reach a run without its session, of which only the kept range counts.
	session, err := f.Store.Reader(auth.With(ctx, nil)).SessionHead(ctx, run.SessionID)
	if err != nil {
		return false, err
	}
	return run.FirstEventID < session.FirstKeptEventID, nil
}

// segmentFrom returns a segment with its frames after a number, and possibly earlier ones.
func (f *face) segmentFrom(ctx context.Context, id segmentID, record *model.RunRecord, after int64) (*segment, error) {
	if known, at, ok := f.outlines.before(keyOf(id, record), after); ok {
		log, err := f.historyAt(ctx, id.runID, at.eventID)
		if err != nil {
			return nil, err
		}
		return &segment{
			id: id, parentID: known.parentID, agentID: record.Run.AgentID, log: *log, startedAtMs: known.startedAtMs, seq: at.seq,
		}, nil
	}
	if id.after == 0 {
		return segmentOf(id, record), nil
	}
	s, err := f.segmentAfter(ctx, id, record)
	if err == nil {
		s.begin()
	}
	return s, err
}

// segmentAfter folds the log up to the beginning of a segment. The caller begins it. The log has no
// parent unless the client named it, so the previous resume is shown, which it nearly always is.
func (f *face) segmentAfter(ctx context.Context, id segmentID, record *model.RunRecord) (*segment, error) {
	log, err := f.historyAt(ctx, id.runID, id.after)
	if err != nil {
		return nil, err
	}
	parent := segmentID{runID: id.runID, after: log.decided}
	if id.suffix == "" && log.decided == log.lastEventID {
		parent.after = log.decidedBefore
	}
	s := &segment{id: id, parentID: parent.String(), agentID: record.Run.AgentID, log: *log}
	if id.name != nil {
		s.parentID = id.name.parentID
	}
	return s, nil
}

// queryNumber reads a number of the query and clamps it to its limits. Errors: 422.
func queryNumber(query url.Values, name string, otherwise, least, most int64) (int64, error) {
	if !query.Has(name) {
		return otherwise, nil
	}
	value, err := strconv.ParseInt(query.Get(name), 10, 64) // out of range: the nearest value
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, unprocessable("%s must be a whole number", name)
	}
	return min(max(value, least), most), nil
}

type notFoundBody struct {
	Error string `json:"error"`
}

// cancel cancels a running or waiting run (docs/spec/timbal.md#cancel-a-run).
func (f *face) cancel(w http.ResponseWriter, r *http.Request) error {
	actor, err := f.Actor(r)
	if err != nil {
		return err
	}
	id, _, err := f.find(r.Context(), wire.PathID(r, "run_id"))
	var reply runs.Reply
	if err == nil {
		reply, err = f.Store.Do(r.Context(), &runs.CancelRun{RunID: id.runID, Actor: actor})
	}
	if refusal.CodeOf(err) == api.CodeRunNotFound || err == nil && reply.Existing {
		return wire.Respond(w, r, http.StatusNotFound, notFoundBody{"Job not found or already completed"})
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
