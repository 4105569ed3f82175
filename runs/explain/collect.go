package explain

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// maxQueueBytes bounds the part of a session's queue that is read.
const maxQueueBytes = 4 << 20

// Collector reads the facts for an explanation.
type Collector struct {
	// Reader shows only what the context's caller may see.
	Reader reads.Reader
	// Whole reads without restriction. Its results are never shown to the caller.
	Whole runs.ValueReader
	// NowMs is the deciding clock.
	NowMs func(ctx context.Context) (int64, error)
	// Waiting counts the pending claims in this process that match a run.
	Waiting func(run *reads.Claimable) int
	// Silence returns for how long at least no worker has asked for an agent's runs, of this process and of the other
	// replicas that tell, and whether one had asked for that agent by name before.
	Silence func(agentID string) (ms int64, named bool)
	// Workers is nil if nothing is known of workers; Silence, too.
	Workers Workers
	// Directory lists the credentials.
	Directory Directory
	// ShowEffect returns the caller's view of an effect; nil for the service itself.
	ShowEffect func(effect *model.Effect) api.EffectView

	// RulesNear returns the standing rules about an open request, and how many there are beyond api.MaxExplainedRules. It
	// may be nil.
	RulesNear func(ctx context.Context, request *model.DecidedRequest) (near []api.ExplainedRule, more int64, err error)

	// Channels are the channels that notify people; none if the service notifies nobody.
	Channels []string
	// Reachable returns those of these principals who have a verified address on one of the channels. It is nil if the
	// service notifies nobody.
	Reachable func(ctx context.Context, principals []string) ([]string, error)
	// Messages tells what became of the messages about the rows of a list; nil if that is not known.
	Messages reads.Messages

	// known caches the deciders.
	known *deciders
}

// Directory lists the valid credentials.
type Directory interface {
	// Open reports whether the service requires no credentials.
	Open(ctx context.Context) (bool, error)
	// Deciders returns the identities that may decide. more says that the list is incomplete.
	Deciders(ctx context.Context) (deciders []*auth.Identity, more bool, err error)
	// Strangers reports whether an issuer can sign in people who have no credential yet.
	Strangers() bool
}

// OfRequest explains an approval or a question. Errors: request_not_found, and the reader's.
func (c *Collector) OfRequest(ctx context.Context, handle string, actor runs.Actor) (*api.RequestExplanation, error) {
	found, err := c.Reader.DecisionByHandle(ctx, handle)
	if err != nil {
		return nil, err
	}
	nowMs, err := c.NowMs(ctx)
	if err != nil {
		return nil, err
	}
	facts := RequestFacts{NowMs: nowMs, Request: &found.Request, RunKind: found.RunKind, Reader: actor.Name}
	if found.Request.Open() {
		record, err := c.Whole.Run(ctx, found.Request.RunID)
		if err != nil {
			return nil, err
		}
		if facts.People, err = c.people(ctx, &record.Run, &found.Request, actor); err != nil {
			return nil, err
		}
		notices, err := c.notices(ctx, &record.Run, found.Request.CreatedAtMs)
		if err != nil {
			return nil, err
		}
		facts.Notices = notices(handle)
		if facts.Unreachable, err = c.unreachable(ctx, &found.Request, &facts.People, facts.Notices); err != nil {
			return nil, err
		}
		rows := []model.PendingRequest{found.PendingRequest}
		silentMs, err := c.silent(ctx, rows)
		if err != nil {
			return nil, err
		}
		watched, err := c.watched(ctx, rows)
		if err != nil {
			return nil, err
		}
		facts.AgentID, facts.SilentMs, facts.Watched = found.AgentID, silentMs[handle], watched[handle]
		if c.RulesNear != nil {
			if facts.Rules, facts.RulesMore, err = c.RulesNear(ctx, found); err != nil {
				return nil, err
			}
		}
	} else {
		if auth.From(ctx) != nil {
			facts.People.You = &api.ExplainedCaller{}
		}
		if facts.Notices, err = c.settledNotices(ctx, &found.Request); err != nil {
			return nil, err
		}
	}
	return new(Request(&facts)), nil
}

// OfRun explains a run. Errors: run_not_found, and the reader's.
func (c *Collector) OfRun(ctx context.Context, runID string, actor runs.Actor) (*api.RunExplanation, error) {
	record, err := c.Reader.Run(ctx, runID)
	if err != nil {
		return nil, err
	}
	nowMs, err := c.NowMs(ctx)
	if err != nil {
		return nil, err
	}
	left := api.MaxExplainChain
	facts, err := c.run(ctx, record, nowMs, actor, &left)
	if err == nil {
		err = c.child(ctx, facts, actor)
	}
	if err != nil {
		return nil, err
	}
	return new(Run(facts)), nil
}

// run reads the facts about a run. left counts how many other runs may still be read.
func (c *Collector) run(ctx context.Context, record *model.RunRecord, nowMs int64, actor runs.Actor, left *int) (*RunFacts, error) {
	facts := &RunFacts{NowMs: nowMs, Record: record}
	run := &record.Run
	var err error
	switch {
	case model.Terminal(run.Status):
	case model.Waiting(run.Status):
		err = c.waiting(ctx, facts, actor, left)
	case run.Leased(nowMs) || run.ClaimableAtMs > nowMs:
	case run.ClaimableAtMs != 0:
		facts.OtherReplicas = c.Workers != nil && c.Workers.OthersServe() && !c.nobodyAsks(run.AgentID)
		facts.WorkersWaiting = int64(c.Waiting(&reads.Claimable{
			RunID: run.RunID, SessionID: run.SessionID, AgentID: run.AgentID, ClaimableAtMs: run.ClaimableAtMs,
			Principal: run.Principal, HolderPrincipal: run.HolderPrincipal,
		}))
	default:
		err = c.queue(ctx, facts, actor, left)
	}
	if err == nil {
		err = c.owed(ctx, facts)
	}
	return facts, err
}

// child reads the facts about a run below the session of a run that a worker has: the first one with an open request,
// without its own family.
func (c *Collector) child(ctx context.Context, facts *RunFacts, actor runs.Actor) error {
	run := &facts.Record.Run
	if !model.TakesSlot(run.Kind) || run.Status != api.StatusRunning || !run.Leased(facts.NowMs) {
		return nil
	}
	var below []string
	for _, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion} {
		open, err := c.Reader.PendingRequests(ctx, reads.RequestQuery{
			Kind: kind, SessionID: run.SessionID, Below: true, Limit: api.MaxExplainedRequests, Budget: &reads.Budget{MaxBytes: maxQueueBytes},
		})
		if err != nil {
			return err
		}
		for i := range open {
			if runID := open[i].Request.RunID; open[i].Request.SessionID != run.SessionID && !slices.Contains(below, runID) {
				below = append(below, runID)
			}
		}
	}
	if len(below) == 0 {
		return nil
	}
	record, err := c.Reader.Run(ctx, below[0])
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	left := 0
	facts.ChildrenMore = int64(len(below) - 1)
	facts.Child, err = c.run(ctx, record, facts.NowMs, actor, &left)
	return err
}

func (c *Collector) waiting(ctx context.Context, facts *RunFacts, actor runs.Actor, left *int) error {
	run := &facts.Record.Run
	sinceMs := facts.NowMs
	for i := range facts.Record.Requests {
		if request := &facts.Record.Requests[i]; request.Open() {
			sinceMs = min(sinceMs, request.CreatedAtMs)
		}
	}
	notices, err := c.notices(ctx, run, sinceMs)
	if err != nil {
		return err
	}
	open := make([]model.PendingRequest, len(facts.Record.Requests))
	for i := range open {
		open[i] = model.PendingRequest{Request: facts.Record.Requests[i], AgentID: run.AgentID, RunKind: run.Kind}
	}
	silentMs, err := c.silent(ctx, open)
	if err != nil {
		return err
	}
	watched, err := c.watched(ctx, open)
	if err != nil {
		return err
	}
	for i := range facts.Record.Requests {
		request := &facts.Record.Requests[i]
		switch {
		case !request.Open():
		case request.Kind == model.KindClarification:
			if !request.Parked() || *left == 0 {
				continue
			}
			*left--
			asked, err := c.Reader.Run(ctx, request.Clarification().WaitingOn.RunID)
			if refusal.CodeOf(err) == api.CodeRunNotFound {
				continue
			}
			if err == nil {
				facts.Asked, err = c.run(ctx, asked, facts.NowMs, actor, left)
			}
			if err != nil {
				return err
			}
		case len(facts.Requests) == api.MaxExplainedRequests:
			facts.RequestsMore++
		default:
			people, err := c.people(ctx, run, request, actor)
			if err != nil {
				return err
			}
			unreachable, err := c.unreachable(ctx, request, &people, notices(request.Handle))
			if err != nil {
				return err
			}
			facts.Requests = append(facts.Requests, RequestFacts{
				Unreachable: unreachable,
				NowMs:       facts.NowMs, Request: request, RunKind: run.Kind, People: people, Notices: notices(request.Handle), Reader: actor.Name,
				AgentID: run.AgentID, SilentMs: silentMs[request.Handle], Watched: watched[request.Handle],
			})
		}
	}
	return nil
}

// queue reads the runs ahead: the one in the session's slot, and the queued ones.
func (c *Collector) queue(ctx context.Context, facts *RunFacts, actor runs.Actor, left *int) error {
	run := &facts.Record.Run
	head, err := c.Whole.SessionHead(ctx, run.SessionID)
	if err != nil {
		return err
	}
	facts.SessionEnded, facts.QueuedAhead = head.EndedAtMs != 0, run.QueuedAhead
	if run.Status != api.StatusQueued {
		return nil
	}
	budget := &reads.Budget{MaxBytes: maxQueueBytes}
	queued, err := c.Reader.Runs(ctx, reads.RunQuery{SessionID: run.SessionID, Status: api.StatusQueued, Limit: api.MaxQueuedRuns, Budget: budget})
	if err != nil {
		return err
	}
	queued = slices.DeleteFunc(queued, func(other model.RunRecord) bool { return other.Run.FirstEventID >= run.FirstEventID })
	slices.SortFunc(queued, func(a, b model.RunRecord) int { return cmp.Compare(a.Run.FirstEventID, b.Run.FirstEventID) })
	ahead := make([]*model.RunRecord, 0, len(queued)+1)
	if head.ActiveRunID != "" && head.ActiveRunID != run.RunID {
		facts.QueuedAhead++
		active, err := c.Reader.Run(ctx, head.ActiveRunID)
		switch {
		case err == nil:
			ahead = append(ahead, active)
		case refusal.CodeOf(err) != api.CodeRunNotFound:
			return err
		}
	}
	for i := range queued {
		ahead = append(ahead, &queued[i])
	}
	if len(ahead) == 0 || *left == 0 {
		return nil
	}
	if len(ahead) > *left {
		// Keep the first, which blocks the others, and the nearest ones.
		ahead = append(ahead[:1:1], ahead[len(ahead)-*left+1:]...)
	}
	*left -= len(ahead)
	before, err := c.front(ctx, ahead[0], facts.NowMs, actor, left)
	if err != nil {
		return err
	}
	for _, record := range ahead[1:] {
		before = &RunFacts{NowMs: facts.NowMs, Record: record, QueuedAhead: record.Run.QueuedAhead + facts.QueuedAhead - run.QueuedAhead, Before: before}
	}
	facts.Before = before
	return nil
}

// front reads the facts about the first run. If that one is queued, the caller may not see the
// run in the slot, and the queue is not read again.
func (c *Collector) front(ctx context.Context, record *model.RunRecord, nowMs int64, actor runs.Actor, left *int) (*RunFacts, error) {
	if record.Run.Status == api.StatusQueued && record.Run.ClaimableAtMs == 0 {
		return &RunFacts{NowMs: nowMs, Record: record, QueuedAhead: record.Run.QueuedAhead + 1}, nil
	}
	return c.run(ctx, record, nowMs, actor, left)
}

func (c *Collector) owed(ctx context.Context, facts *RunFacts) error {
	run := &facts.Record.Run
	for _, state := range []api.EffectState{api.EffectFailed, api.EffectPending} {
		effects, err := c.Reader.Effects(ctx, reads.EffectQuery{
			SessionID: run.SessionID, RunID: run.RunID, State: state, Limit: api.MaxExplainedRequests - len(facts.Owed),
		})
		if err != nil {
			return err
		}
		for i := range effects {
			facts.Owed = append(facts.Owed, c.ShowEffect(&effects[i]))
		}
	}
	return nil
}
