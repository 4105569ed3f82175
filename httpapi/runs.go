package httpapi

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// sessionRunBody makes a run in a session that the path names.
type sessionRunBody struct {
	keyed
	RunID        *string     `json:"run_id"`
	Kind         api.RunKind `json:"kind"`
	Input        api.JSON    `json:"input"`
	AgentID      *string     `json:"agent_id"`
	Metadata     api.JSON    `json:"metadata"`
	SourcePlugin string      `json:"source_plugin"`
	SourceKind   string      `json:"source_kind"`
	ActorID      string      `json:"actor_id"`
}

type createRunBody struct {
	sessionRunBody
	SessionID *string           `json:"session_id"`
	Claim     *api.ClaimOptions `json:"claim"`
	Suspend   *api.Suspension   `json:"suspend"`
}

func (b *sessionRunBody) command(wrong *faults) *runs.CreateRun {
	return &runs.CreateRun{
		RunID: wrong.id("/run_id", b.RunID), Kind: b.Kind, Input: b.Input,
		AgentID:  wrong.id("/agent_id", b.AgentID),
		Metadata: b.Metadata, SourcePlugin: b.SourcePlugin, SourceKind: b.SourceKind, ActorID: b.ActorID,
	}
}

// makeRun gives the command to the store, once what only HTTP knows is checked.
func (s *Server) makeRun(r *http.Request, body *sessionRunBody, command *runs.CreateRun, wrong faults) (runs.Reply, error) {
	if err := wrong.err(); err != nil {
		return runs.Reply{}, err
	}
	key, actor, err := credentials(r, body.IdempotencyKey, command)
	if err != nil {
		return runs.Reply{}, err
	}
	command.Key, command.Caller = key, actor.Name
	return s.store.Do(r.Context(), command)
}

func (s *Server) createRun(w http.ResponseWriter, r *http.Request) error {
	var body createRunBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := body.command(&wrong)
	command.SessionID, command.SessionGiven = wrong.id("/session_id", body.SessionID), body.SessionID != nil
	command.Claim, command.Suspend = body.Claim, body.Suspend
	reply, err := s.makeRun(r, &body.sessionRunBody, command, wrong)
	if err != nil {
		return err
	}
	claimed := body.Claim != nil && (body.Suspend == nil || body.Suspend.Hold)
	if body.Claim != nil && !claimed {
		if claimed, err = s.goesOn(r.Context(), &reply); err != nil {
			return err
		}
	}
	if claimed {
		return s.respondClaimed(w, r, &reply, body.Claim.WorkerID)
	}
	return s.respondMade(w, r, &reply)
}

func (s *Server) createSessionRun(w http.ResponseWriter, r *http.Request) error {
	var body sessionRunBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	command := body.command(&wrong)
	command.SessionID, command.SessionGiven = wire.PathID(r, "session_id"), true
	reply, err := s.makeRun(r, &body, command, wrong)
	if err != nil {
		return err
	}
	return s.respondMade(w, r, &reply)
}

// goesOn reports whether a run that was claimed and suspended at once goes on under
// the lease of that claim, because standing rules settled everything. Of a repeated
// call the run as it is now tells.
func (s *Server) goesOn(ctx context.Context, reply *runs.Reply) (bool, error) {
	if reply.Run != nil {
		return reply.Claim != nil, nil
	}
	record, err := s.store.Run(ctx, reply.ReplayRunID)
	if err != nil {
		return false, err
	}
	run := &record.Run
	return run.Status == api.StatusRunning && run.Fence == 1 && run.LeaseEnd == "", nil
}

// respondMade answers a creation: 202, also when the key was seen before, and 200
// when only the run id was (v1-work.md, decisions.md 2 and 29).
func (s *Server) respondMade(w http.ResponseWriter, r *http.Request, reply *runs.Reply) error {
	return s.respondRun(w, r, madeStatus(reply), reply)
}

// respondClaimed is respondMade for a caller who runs it itself.
func (s *Server) respondClaimed(w http.ResponseWriter, r *http.Request, reply *runs.Reply, workerID string) error {
	claim := reply.Claim
	if claim == nil {
		record, err := s.store.ClaimedRun(r.Context(), reply.ReplayRunID)
		if err != nil {
			return err
		}
		first := record.FirstClaimOf(workerID)
		claim = &first
	}
	markReplayed(w, reply)
	status := madeStatus(reply)
	if status == http.StatusAccepted {
		locateRun(w, claim.Run.RunID)
	}
	return wire.Respond(w, r, status, claim)
}

func madeStatus(reply *runs.Reply) int {
	if reply.Existing {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// inputSession makes a run and holds the reply until it waits or ends.
func (s *Server) inputSession(w http.ResponseWriter, r *http.Request) error {
	var body sessionRunBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	sessionID := wire.PathID(r, "session_id")
	var wrong faults
	command := body.command(&wrong)
	command.SessionID, command.SessionGiven, command.Inline = sessionID, true, true
	reply, err := s.makeRun(r, &body, command, wrong)
	if err != nil {
		return err
	}
	wait := s.limits.InputWait
	if preferred, given := wire.PreferWait(r.Header, s.limits.MaxWait); given {
		wait = preferred
		wire.WaitApplied(w, wait)
	}
	return s.respondHeldSession(w, r, &reply, sessionID, wait)
}

// getRun shows a run. With a preferred wait the reply is held while the run is not
// what ?until= names.
func (s *Server) getRun(w http.ResponseWriter, r *http.Request) error {
	done, err := untilOf(r)
	if err != nil {
		return err
	}
	record, err := s.run(r.Context(), wire.PathID(r, "run_id"))
	if err != nil {
		return err
	}
	if record, err = s.holdRun(r.Context(), record, s.preferredWait(w, r), done); err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, record.View())
}

func untilOf(r *http.Request) (func(*model.Run) bool, error) {
	switch queryOf(r).Get("until") {
	case "", "decided":
		return func(run *model.Run) bool { return !model.Waiting(run.Status) }, nil
	case "terminal":
		return func(run *model.Run) bool { return model.Terminal(run.Status) }, nil
	default:
		return nil, badQuery("until", "decided or terminal")
	}
}

func (s *Server) cancelRun(w http.ResponseWriter, r *http.Request) error {
	var body reasonBody
	if err := s.decodeOptional(w, r, &body); err != nil {
		return err
	}
	actor, err := wire.Actor(r.Header)
	if err != nil {
		return err
	}
	runID := wire.PathID(r, "run_id")
	reply, err := s.doOnRun(r, runID, &runs.CancelRun{RunID: runID, Reason: body.Reason, Actor: actor})
	if err != nil {
		return err
	}
	return s.respondRun(w, r, http.StatusOK, orRun(&reply, runID))
}

// orRun names the run of a reply that holds none, so that it is read.
func orRun(reply *runs.Reply, runID string) *runs.Reply {
	if reply.Run == nil && reply.ReplayRunID == "" {
		reply.ReplayRunID = runID
	}
	return reply
}
