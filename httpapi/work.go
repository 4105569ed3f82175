package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// fenced is the member that every call of a lease's holder has.
type fenced struct {
	Fence *string `json:"fence"`
}

type heartbeatBody struct {
	fenced
	LeaseMs      *int64   `json:"lease_ms"`
	Checkpoint   api.JSON `json:"checkpoint"`
	SettledAfter *int64   `json:"settled_after,string"`
}

type heartbeatReply struct {
	ExpiresAtMs     int64 `json:"expires_at_ms"`
	CancelRequested bool  `json:"cancel_requested"`
}

func (s *Server) heartbeat(w http.ResponseWriter, r *http.Request) error {
	var body heartbeatBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := &runs.Heartbeat{
		RunID: wire.PathID(r, "run_id"), Fence: wrong.fence(body.Fence), LeaseMs: wrong.lease(body.LeaseMs),
		Checkpoint: body.Checkpoint, SettledAfter: body.SettledAfter,
	}
	if err := wrong.err(); err != nil {
		return err
	}
	reply, err := s.doOnRun(r, command.RunID, command)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, heartbeatReply{ExpiresAtMs: reply.LeaseExpiresAtMs, CancelRequested: reply.CancelRequested})
}

type suspendBody struct {
	keyed
	fenced
	api.Suspension
}

type suspendReply struct {
	Run    api.RunView `json:"run"`
	Resume *api.Resume `json:"resume,omitempty"`
}

// suspend raises requests. A key stands in for the suspension id that a worker may
// choose: the same key on the same run is the same suspension.
func (s *Server) suspend(w http.ResponseWriter, r *http.Request) error {
	var body suspendBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := &runs.Suspend{RunID: wire.PathID(r, "run_id"), Fence: wrong.fence(body.Fence), Suspension: body.Suspension}
	if err := wrong.err(); err != nil {
		return err
	}
	key, _, err := credentials(r, body.IdempotencyKey, command)
	if err != nil {
		return err
	}
	byKey := key != "" && command.SuspensionID == ""
	if byKey {
		command.SuspensionID = idFromKey(runs.PrefixSuspension, command.RunID, key)
	}
	reply, err := s.doOnRun(r, command.RunID, command)
	if byKey && refusal.CodeOf(err) == api.CodeIDConflict && s.suspended(r.Context(), command.RunID, command.SuspensionID) {
		return errKeyReused()
	}
	if err != nil {
		return err
	}
	record, err := s.ran(r.Context(), orRun(&reply, command.RunID))
	if err != nil {
		return err
	}
	if byKey && reply.Existing {
		w.Header()[wire.ReplayedHeader] = replayed
	}
	answer := suspendReply{Run: record.View()}
	// When standing rules settled everything, the run goes on under the same lease. One
	// that only a person's decision set going is for whoever claims it.
	if record.Run.LeaseEnd == "" {
		answer.Resume = answer.Run.Resume
	}
	return wire.Respond(w, r, http.StatusOK, answer)
}

// suspended reports whether a run shows a request of that suspension. It tells the
// two reasons of an id_conflict apart when the suspension's id was made from a
// key: a key that was used before, or a request id that was.
func (s *Server) suspended(ctx context.Context, runID, suspensionID string) bool {
	record, err := s.store.Run(ctx, runID)
	return err == nil && slices.ContainsFunc(record.Requests, func(request model.Request) bool {
		return request.SuspensionID == suspensionID
	})
}

type withdrawBody struct {
	fenced
	Reason string `json:"reason"`
}

func (s *Server) withdraw(w http.ResponseWriter, r *http.Request) error {
	var body withdrawBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := &runs.Withdraw{
		RunID: wire.PathID(r, "run_id"), RequestID: wire.PathID(r, "request_id"),
		Fence: wrong.fence(body.Fence), Reason: body.Reason,
	}
	return s.doWork(w, r, command.RunID, command, wrong)
}

type eventsBody struct {
	fenced
	Events []api.JSON `json:"events"`
}

type eventsReply struct {
	LastEventID string `json:"last_event_id"`
}

func (s *Server) appendEvents(w http.ResponseWriter, r *http.Request) error {
	var body eventsBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := &runs.AppendEvents{RunID: wire.PathID(r, "run_id"), Fence: wrong.fence(body.Fence), Events: body.Events}
	if err := wrong.err(); err != nil {
		return err
	}
	reply, err := s.doOnRun(r, command.RunID, command)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusAccepted, eventsReply{LastEventID: strconv.FormatInt(reply.LastEventID, 10)})
}

type completeBody struct {
	fenced
	Output api.JSON `json:"output"`
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) error {
	var body completeBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := &runs.Complete{RunID: wire.PathID(r, "run_id"), Fence: wrong.fence(body.Fence), Output: body.Output}
	return s.doWork(w, r, command.RunID, command, wrong)
}

type failBody struct {
	fenced
	Error string `json:"error"`
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request) error {
	var body failBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := &runs.Fail{RunID: wire.PathID(r, "run_id"), Fence: wrong.fence(body.Fence), Error: body.Error}
	return s.doWork(w, r, command.RunID, command, wrong)
}

type releaseBody struct {
	fenced
	Checkpoint api.JSON `json:"checkpoint"`
}

// release gives a run back. The body may be absent (decisions.md 37); then the
// fence stands in the query.
func (s *Server) release(w http.ResponseWriter, r *http.Request) error {
	var body releaseBody
	if err := s.decodeOptional(w, r, &body); err != nil {
		return err
	}
	if fence := queryOf(r).Get("fence"); body.Fence == nil && fence != "" {
		body.Fence = &fence
	}
	var wrong faults
	command := &runs.Release{RunID: wire.PathID(r, "run_id"), Fence: wrong.fence(body.Fence), Checkpoint: body.Checkpoint}
	return s.doWork(w, r, command.RunID, command, wrong)
}

// doWork gives a holder's command to the store and answers 200 with the run.
func (s *Server) doWork(w http.ResponseWriter, r *http.Request, runID string, command runs.Command, wrong faults) error {
	if err := wrong.err(); err != nil {
		return err
	}
	reply, err := s.doOnRun(r, runID, command)
	if err != nil {
		return err
	}
	return s.respondRun(w, r, http.StatusOK, orRun(&reply, runID))
}

// errKeyReused is what a caller is told whose key made the id that is in use.
func errKeyReused() error {
	return refusal.New(api.CodeIdempotencyConflict, "run operation idempotency key was reused with a different request payload")
}

// idFromKey makes the id of a thing whose creation is told from others by a key
// alone, so that the thing itself is the record of the call.
func idFromKey(prefix, scope, key string) string {
	sum := sha256.Sum256([]byte(scope + "\x00" + key))
	return prefix + "_key_" + hex.EncodeToString(sum[:16])
}
