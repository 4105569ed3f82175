package runs

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// createRunCommand returns the command for a body, without its session.
func createRunCommand(body *api.SessionRunBody, faults *refusal.Faults) *runs.CreateRun {
	switch {
	case body.Input == nil:
		body.Input = body.Content
	case body.Content != nil:
		faults.Add("/content", "must not be given together with input: it is an alias")
	}
	return &runs.CreateRun{
		RunID: kit.OptionalID(faults, "/run_id", body.RunID), Kind: body.Kind, Input: body.Input,
		AgentID:  kit.OptionalID(faults, "/agent_id", body.AgentID),
		Metadata: body.Metadata, SourcePlugin: body.SourcePlugin, SourceKind: body.SourceKind, ActorID: body.ActorID,
	}
}

// doCreateRun sends the command to the store, unless the body has faults.
func (h *handlers) doCreateRun(r *http.Request, body *api.SessionRunBody, command *runs.CreateRun, faults *refusal.Faults) (runs.Reply, error) {
	key, actor, err := kit.Credentials(r, faults, body.IdempotencyKey, command)
	if err != nil {
		return runs.Reply{}, err
	}
	command.Key, command.Caller = key, actor.Name
	command.ReviewRequestIDs = h.ToReview(command.Suspend)
	return h.Store.Do(r.Context(), command)
}

func (h *handlers) createRun(w http.ResponseWriter, r *http.Request) error {
	var body api.CreateRunBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	command := createRunCommand(&body.SessionRunBody, &faults)
	command.SessionID, command.SessionGiven = kit.OptionalID(&faults, "/session_id", body.SessionID), body.SessionID != nil
	command.Session, command.Claim, command.Suspend = body.Session, body.Claim, body.Suspend
	reply, err := h.doCreateRun(r, &body.SessionRunBody, command, &faults)
	if err != nil {
		return err
	}
	claimed := body.Claim != nil && (body.Suspend == nil || body.Suspend.Hold)
	if body.Claim != nil && !claimed {
		if claimed, err = h.keepsLease(r.Context(), &reply); err != nil {
			return err
		}
	}
	if claimed {
		return h.respondClaimed(w, r, &reply, body.Claim.WorkerID)
	}
	return h.RespondRun(w, r, acceptedStatus(&reply), &reply, "")
}

// doCreateSessionRun reads a body and creates a run in the path's session. inline refuses to queue
// it.
func (h *handlers) doCreateSessionRun(w http.ResponseWriter, r *http.Request, sessionID string, inline bool) (runs.Reply, error) {
	var body api.SessionRunBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return runs.Reply{}, err
	}
	command := createRunCommand(&body, &faults)
	command.SessionID, command.SessionGiven, command.Inline = sessionID, true, inline
	return h.doCreateRun(r, &body, command, &faults)
}

func (h *handlers) createSessionRun(w http.ResponseWriter, r *http.Request) error {
	reply, err := h.doCreateSessionRun(w, r, wire.PathID(r, "session_id"), false)
	if err != nil {
		return err
	}
	return h.RespondRun(w, r, acceptedStatus(&reply), &reply, "")
}

// keepsLease reports whether a run that was claimed and suspended in one call keeps its lease,
// because rules settled every request. For a repeated call it looks at the current state.
func (h *handlers) keepsLease(ctx context.Context, reply *runs.Reply) (bool, error) {
	if reply.Run != nil {
		return reply.Claim != nil, nil
	}
	record, err := h.Store.Reader(ctx).Run(ctx, reply.ReplayRunID)
	if err != nil {
		return false, err
	}
	run := &record.Run
	return run.Status == api.StatusRunning && run.Fence == model.FirstFence && run.LeaseEnd == "", nil
}

// respondClaimed answers a creation that claimed the run.
func (h *handlers) respondClaimed(w http.ResponseWriter, r *http.Request, reply *runs.Reply, workerID string) error {
	claim := reply.Claim
	if claim == nil {
		record, err := h.Store.Reader(r.Context()).ClaimedRun(r.Context(), reply.ReplayRunID)
		if err != nil {
			return err
		}
		// A caller with the same key may not be the lease's holder.
		if err := runs.CheckHolder(&record.Run, model.FirstFence, auth.From(r.Context())); err != nil {
			return err
		}
		claim = new(record.FirstClaimOf(workerID))
	}
	handed := *claim
	if err := h.HandOver(r.Context(), &handed); err != nil {
		return err
	}
	wire.MarkReplayed(w, reply.Replayed)
	status := acceptedStatus(reply)
	if status == http.StatusAccepted {
		wire.Locate(w, "/v1/runs/", claim.Run.RunID)
	}
	return wire.Respond(w, r, status, handed)
}

// acceptedStatus returns 202 for a new run, including a repeated call with its key, and 200 when
// the caller's own run id already exists.
func acceptedStatus(reply *runs.Reply) int {
	if reply.Existing {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// inputSession creates a run and holds the reply until it waits or ends.
func (h *handlers) inputSession(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	reply, err := h.doCreateSessionRun(w, r, sessionID, true)
	if err != nil {
		return err
	}
	wait := h.InputWait
	if preferred, given := wire.PreferWait(r.Header, h.MaxWait); given {
		wait = preferred
		wire.WaitApplied(w, wait)
	}
	return h.RespondHeldSession(w, r, &reply, sessionID, wait)
}

// getRun shows a run. With a preferred wait the reply is held until the run is in a state that
// ?until= names.
func (h *handlers) getRun(w http.ResponseWriter, r *http.Request) error {
	done, err := untilOf(r)
	if err != nil {
		return err
	}
	runID := wire.RunOf(wire.PathID(r, "run_id"))
	record, err := h.Run(r.Context(), runID)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		// It may be a client's name for a part of a run, through a dialect.
		var named *model.IdempotencyRecord
		if named, err = h.Store.Reader(r.Context()).Named(r.Context(), runID); err == nil {
			record, err = h.Run(r.Context(), named.RunID)
		}
	}
	if err != nil {
		return err
	}
	if record, err = h.HoldRun(r.Context(), record, h.PreferredWait(w, r), done); err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, record.View())
}

func untilOf(r *http.Request) (func(*model.Run) bool, error) {
	switch wire.Query(r).Get("until") {
	case "", "decided":
		return func(run *model.Run) bool { return !model.Waiting(run.Status) }, nil
	case "terminal":
		return func(run *model.Run) bool { return model.Terminal(run.Status) }, nil
	default:
		return nil, wire.BadQuery("until", "decided or terminal")
	}
}

func (h *handlers) cancelRun(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	command, err := h.Reason(w, r, func(reason string, actor runs.Actor) runs.Command {
		return &runs.CancelRun{RunID: runID, Reason: reason, Actor: actor}
	})
	if err != nil {
		return err
	}
	reply, err := h.DoOnRun(r, runID, command)
	if err != nil {
		return err
	}
	return h.RespondRun(w, r, http.StatusOK, &reply, runID)
}

// retryRun makes a failed run claimable again. The body may be absent.
func (h *handlers) retryRun(w http.ResponseWriter, r *http.Request) error {
	var body api.RetryRunBody
	var faults refusal.Faults
	if err := h.Bodies.DecodeOptional(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.RetryRun{RunID: wire.PathID(r, "run_id")}
	var err error
	if command.Key, command.Actor, err = kit.Credentials(r, &faults, body.IdempotencyKey, command); err != nil {
		return err
	}
	reply, err := h.DoOnRun(r, command.RunID, command)
	if err != nil {
		return err
	}
	wire.MarkReplayed(w, reply.Existing)
	return h.RespondRun(w, r, http.StatusOK, &reply, command.RunID)
}
