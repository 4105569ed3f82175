package work

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// leaseCall converts a body to the command of a lease's holder. It adds faults that only the wire
// format can have.
type leaseCall[Body any] func(r *http.Request, runID string, body *Body, faults *refusal.Faults) runs.Command

// bodyPresence says whether a body may be absent.
type bodyPresence bool

const (
	bodyRequired bodyPresence = false
	bodyOptional bodyPresence = true
)

// doOnLease reads a body of a lease's holder and sends its command to the store.
func doOnLease[Body any](h *Handlers, w http.ResponseWriter, r *http.Request, presence bodyPresence, call leaseCall[Body]) (runs.Reply, error) {
	var body Body
	var faults refusal.Faults
	decode := h.Bodies.Decode
	if presence == bodyOptional {
		decode = h.Bodies.DecodeOptional
	}
	if err := decode(w, r, &body, &faults); err != nil {
		return runs.Reply{}, err
	}
	runID := wire.PathID(r, "run_id")
	command := call(r, runID, &body, &faults)
	if err := kit.AllFaults(r.Context(), &faults, command); err != nil {
		return runs.Reply{}, err
	}
	return h.DoOnRun(r, runID, command)
}

// onLease handles a call of a lease's holder and answers 200 with the run.
func onLease[Body any](h *Handlers, presence bodyPresence, call leaseCall[Body]) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		reply, err := doOnLease(h, w, r, presence, call)
		if err != nil {
			return err
		}
		wire.MarkReplayed(w, reply.Existing)
		return h.RespondRun(w, r, http.StatusOK, &reply, wire.PathID(r, "run_id"))
	}
}

func withdraw(r *http.Request, runID string, body *api.WithdrawBody, faults *refusal.Faults) runs.Command {
	return &runs.Withdraw{
		RunID: runID, RequestID: wire.PathID(r, "request_id"), Fence: kit.RequiredFence(faults, body.Fence), Reason: body.Reason,
	}
}

func complete(_ *http.Request, runID string, body *api.CompleteBody, faults *refusal.Faults) runs.Command {
	return &runs.Complete{RunID: runID, Fence: kit.RequiredFence(faults, body.Fence), Output: body.Output}
}

func fail(_ *http.Request, runID string, body *api.FailBody, faults *refusal.Faults) runs.Command {
	return &runs.Fail{RunID: runID, Fence: kit.RequiredFence(faults, body.Fence), Error: body.Error}
}

// release takes the fence from the query when the body has none.
func release(r *http.Request, runID string, body *api.ReleaseBody, faults *refusal.Faults) runs.Command {
	if fence := wire.Query(r).Get("fence"); body.Fence == nil && fence != "" {
		body.Fence = &fence
	}
	if body.Fence == nil {
		faults.Add("/fence", "is required")
	}
	var delayMs int64
	if body.DelayMs != nil {
		delayMs = *body.DelayMs // unlike a lease, a delay may be 0
	}
	return &runs.Release{
		RunID: runID, Fence: kit.RequiredFence(faults, body.Fence), Checkpoint: body.Checkpoint, SettledAfter: body.SettledAfter,
		LastError: body.LastError, Attempt: body.Attempt, DelayMs: delayMs,
	}
}

func heartbeat(_ *http.Request, runID string, body *api.HeartbeatBody, faults *refusal.Faults) runs.Command {
	return &runs.Heartbeat{
		RunID: runID, Fence: kit.RequiredFence(faults, body.Fence), LeaseMs: kit.OptionalNumber(body.LeaseMs),
		Checkpoint: body.Checkpoint, SettledAfter: body.SettledAfter,
	}
}

func (h *Handlers) heartbeat(w http.ResponseWriter, r *http.Request) error {
	reply, err := doOnLease(h, w, r, bodyRequired, heartbeat)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, api.HeartbeatReply{ExpiresAtMs: reply.LeaseExpiresAtMs, CancelRequested: reply.CancelRequested})
}

func (h *Handlers) appendEvents(w http.ResponseWriter, r *http.Request) error {
	var body api.AppendEventsBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.AppendEvents{RunID: wire.PathID(r, "run_id"), Fence: kit.RequiredFence(&faults, body.Fence), Events: body.Events}
	var err error
	if command.IdempotencyKey, _, err = kit.Credentials(r, &faults, body.IdempotencyKey, command); err != nil {
		return err
	}
	reply, err := h.DoOnRun(r, command.RunID, command)
	if err != nil {
		return err
	}
	wire.MarkReplayed(w, reply.Replayed)
	return wire.Respond(w, r, http.StatusAccepted, api.AppendEventsReply{LastEventID: strconv.FormatInt(reply.LastEventID, 10)})
}

// suspend raises requests. An idempotency key can replace the suspension id that a worker may
// choose: the same key on the same run is the same suspension.
func (h *Handlers) suspend(w http.ResponseWriter, r *http.Request) error {
	var body api.SuspendBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.Suspend{RunID: wire.PathID(r, "run_id"), Fence: kit.RequiredFence(&faults, body.Fence), Suspension: body.Suspension}
	key, _, err := kit.Credentials(r, &faults, body.IdempotencyKey, command)
	if err != nil {
		return err
	}
	if key != "" && command.SuspensionID == "" {
		command.SuspensionID, command.ByKey = kit.IDFromKey(runs.PrefixSuspension, command.RunID, key), true
	}
	command.ReviewRequestIDs = h.ToReview(&command.Suspension)
	reply, err := h.DoOnRun(r, command.RunID, command)
	if err != nil {
		return err
	}
	record, err := h.RunOf(r.Context(), &reply, command.RunID)
	if err != nil {
		return err
	}
	wire.MarkReplayed(w, reply.Existing)
	var answer api.SuspendReply
	if body.Hold {
		// An attached worker has its earlier decisions. With them, each reply would be longer than the last.
		answer.Run = record.ViewWithoutResume()
	} else {
		answer.Run = record.View()
	}
	if body.Hold || reply.Existing {
		record = withOnly(record, command.SuspensionID)
	}
	// When rules settled every request of the call, the worker keeps its lease. A run that a
	// person's decision resumed is claimable by any worker.
	if record.Run.LeaseEnd == "" && record.Run.Fence == command.Fence && !openIn(record, command.SuspensionID) {
		if answer.Resume, err = h.openResume(record); err != nil {
			return err
		}
		if err := h.grants.sign(answer.Resume, leaseOf(&record.Run)); err != nil {
			return err
		}
	}
	return wire.Respond(w, r, http.StatusOK, answer)
}

// withOnly returns a record that has only the requests of one suspension. Its Resume has their decisions
// even if a checkpoint includes them.
func withOnly(record *model.RunRecord, suspensionID string) *model.RunRecord {
	only := *record
	only.Run.SuspensionID, only.Run.ResumeAfter = suspensionID, 0
	only.Requests = slices.DeleteFunc(slices.Clone(record.Requests), func(request model.Request) bool {
		return request.SuspensionID != suspensionID
	})
	return &only
}

// openIn reports whether a request of the suspension is open.
func openIn(record *model.RunRecord, suspensionID string) bool {
	return slices.ContainsFunc(record.Requests, func(request model.Request) bool {
		return request.SuspensionID == suspensionID && request.Open()
	})
}
