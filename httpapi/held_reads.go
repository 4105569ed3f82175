package httpapi

import (
	"context"
	"math"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// scopeOf returns the scope of the context's caller.
func scopeOf(ctx context.Context) runs.Scope { return runs.ScopeOf(auth.From(ctx)) }

// reachesRun returns run_not_found for a run outside of the caller's scope. It reads only the run's
// row, so a hidden run takes as long as an unknown one.
func (s heldStore) reachesRun(ctx context.Context, runID string) error {
	scope := scopeOf(ctx)
	if !scope.Bounded() {
		return nil
	}
	run, _, err := s.store.SettledAfter(ctx, runID, math.MaxInt64)
	if err == nil && !scope.FitsRun(run) {
		return refusal.UnknownRun(runID)
	}
	return err
}

// reachesSession is reachesRun for a session.
func (s heldStore) reachesSession(ctx context.Context, sessionID string) error {
	if scope := scopeOf(ctx); !scope.Bounded() {
		return nil
	}
	_, err := s.SessionHead(ctx, sessionID)
	return err
}

// Run implements [runs.Reader].
func (s heldStore) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	if err := s.reachesRun(ctx, runID); err != nil {
		return nil, err
	}
	return s.store.Run(ctx, runID)
}

// ClaimedRun implements [runs.Reader].
func (s heldStore) ClaimedRun(ctx context.Context, runID string) (*model.RunRecord, error) {
	if err := s.reachesRun(ctx, runID); err != nil {
		return nil, err
	}
	return s.store.ClaimedRun(ctx, runID)
}

// Session implements [runs.Reader].
func (s heldStore) Session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	if err := s.reachesSession(ctx, sessionID); err != nil {
		return nil, err
	}
	return s.store.Session(ctx, sessionID)
}

// SessionHead implements [runs.Reader].
func (s heldStore) SessionHead(ctx context.Context, sessionID string) (*model.Session, error) {
	head, err := s.store.SessionHead(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	if scope := scopeOf(ctx); !scope.FitsSession(head) {
		return nil, refusal.UnknownSession(sessionID)
	}
	return head, nil
}

// Named implements [runs.Reader].
func (s heldStore) Named(ctx context.Context, name string) (*model.IdempotencyRecord, error) {
	record, err := s.store.Named(ctx, name)
	if err == nil && s.reachesRun(ctx, record.RunID) != nil {
		return nil, refusal.UnknownRun(name)
	}
	return record, err
}

// SettledAfter implements [runs.Reader].
func (s heldStore) SettledAfter(ctx context.Context, runID string, after int64) (*model.Run, []model.Request, error) {
	if err := s.reachesRun(ctx, runID); err != nil {
		return nil, nil, err
	}
	return s.store.SettledAfter(ctx, runID, after)
}

// Owners implements [runs.Reader]. Callers do not see the owners of other runs.
func (s heldStore) Owners(ctx context.Context, runIDs []string) (map[string]runs.Owners, error) {
	if auth.From(ctx) != nil {
		return nil, nil
	}
	return s.store.Owners(ctx, runIDs)
}

// Sessions implements [runs.Reader].
func (s heldStore) Sessions(ctx context.Context, q runs.SessionQuery) ([]model.SessionSummary, error) {
	q.Scope = scopeOf(ctx)
	return s.store.Sessions(ctx, q)
}

// Runs implements [runs.Reader].
func (s heldStore) Runs(ctx context.Context, q runs.RunQuery) ([]model.RunRecord, error) {
	q.Scope = scopeOf(ctx)
	return s.store.Runs(ctx, q)
}

// PendingRequests implements [runs.Reader].
func (s heldStore) PendingRequests(ctx context.Context, q runs.RequestQuery) ([]model.PendingRequest, error) {
	q.Scope = scopeOf(ctx)
	return s.store.PendingRequests(ctx, q)
}

// Decisions implements [runs.Reader].
func (s heldStore) Decisions(ctx context.Context, q runs.DecisionQuery) ([]model.DecidedRequest, error) {
	q.Scope = scopeOf(ctx)
	return s.store.Decisions(ctx, q)
}

// CountDecisions implements [runs.Reader].
func (s heldStore) CountDecisions(ctx context.Context, q runs.DecisionQuery) (int64, error) {
	q.Scope = scopeOf(ctx)
	return s.store.CountDecisions(ctx, q)
}

// LeasedRuns implements [runs.Reader].
func (s heldStore) LeasedRuns(ctx context.Context, _ runs.Scope, limit int) ([]model.Run, int64, error) {
	return s.store.LeasedRuns(ctx, scopeOf(ctx), limit)
}

// CountRuns implements [runs.Reader].
func (s heldStore) CountRuns(ctx context.Context, q runs.RunQuery) (int64, error) {
	q.Scope = scopeOf(ctx)
	return s.store.CountRuns(ctx, q)
}

// CountSessions implements [runs.Reader].
func (s heldStore) CountSessions(ctx context.Context, q runs.SessionQuery) (int64, error) {
	q.Scope = scopeOf(ctx)
	return s.store.CountSessions(ctx, q)
}

// CountPendingRequests implements [runs.Reader].
func (s heldStore) CountPendingRequests(ctx context.Context, q runs.RequestQuery) (int64, error) {
	q.Scope = scopeOf(ctx)
	return s.store.CountPendingRequests(ctx, q)
}

// CountEffects implements [runs.Reader].
func (s heldStore) CountEffects(ctx context.Context, q runs.EffectQuery) (int64, error) {
	q.Scope = scopeOf(ctx)
	return s.store.CountEffects(ctx, q)
}

// RequestByHandle implements [runs.Reader].
func (s heldStore) RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error) {
	found, err := s.store.RequestByHandle(ctx, handle)
	if err == nil {
		err = s.reachesRequest(ctx, &found.Request)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// DecisionByHandle implements [runs.Reader].
func (s heldStore) DecisionByHandle(ctx context.Context, handle string) (*model.DecidedRequest, error) {
	found, err := s.store.DecisionByHandle(ctx, handle)
	if err == nil {
		err = s.reachesRequest(ctx, &found.Request)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (s heldStore) reachesRequest(ctx context.Context, request *model.Request) error {
	err := s.reachesRun(ctx, request.RunID)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		return refusal.UnknownRequest(request.Handle)
	}
	return err
}

// Rule implements [runs.Reader]. A limited scope does not include rules for all sessions.
func (s heldStore) Rule(ctx context.Context, ruleID string) (*rules.Record, error) {
	record, err := s.store.Rule(ctx, ruleID)
	if err != nil {
		return nil, err
	}
	scope := scopeOf(ctx)
	if !scope.Bounded() {
		return record, nil
	}
	if err = s.reachesRulesOf(ctx, &scope, record.Rule.SessionID); refusal.CodeOf(err) == api.CodeSessionNotFound {
		err = refusal.UnknownRule(ruleID)
	}
	if err != nil {
		return nil, err
	}
	return record, nil
}

// reachesRulesOf returns session_not_found unless a limited scope includes the rules of a session.
// The session need not exist when the scope depends only on its id.
func (s heldStore) reachesRulesOf(ctx context.Context, scope *runs.Scope, sessionID string) error {
	if sessionID == rules.AllSessions || !scope.FitsID(sessionID) {
		return refusal.UnknownSession(sessionID)
	}
	_, err := s.SessionHead(ctx, sessionID)
	if refusal.CodeOf(err) == api.CodeSessionNotFound && scope.Fits(sessionID, "") {
		return nil
	}
	return err
}

// Rules implements [runs.Reader].
func (s heldStore) Rules(ctx context.Context, q runs.RuleQuery) ([]rules.Record, error) {
	q.Scope = scopeOf(ctx)
	return s.store.Rules(ctx, q)
}

// CountRules implements [runs.Reader].
func (s heldStore) CountRules(ctx context.Context, q runs.RuleQuery) (int64, error) {
	q.Scope = scopeOf(ctx)
	return s.store.CountRules(ctx, q)
}

// RulesFor implements [runs.Reader]. For a session in the scope it includes the rules for all
// sessions, because they apply there. For another session there are none.
func (s heldStore) RulesFor(ctx context.Context, sessionID string, limit int, budget *runs.Budget) ([]rules.Rule, int64, error) {
	if scope := scopeOf(ctx); scope.Bounded() {
		err := s.reachesRulesOf(ctx, &scope, sessionID)
		if refusal.CodeOf(err) == api.CodeSessionNotFound {
			limit = 0
		} else if err != nil {
			return nil, 0, err
		}
	}
	return s.store.RulesFor(ctx, sessionID, limit, budget)
}

// EventsWithin implements [runs.Reader].
func (s heldStore) EventsWithin(ctx context.Context, q runs.EventQuery) (events []model.Event, more bool, err error) {
	if q.RunID != "" {
		err = s.reachesRun(ctx, q.RunID)
	} else {
		err = s.reachesSession(ctx, q.SessionID)
	}
	if err != nil {
		return nil, false, err
	}
	return s.store.EventsWithin(ctx, q)
}

// Effects implements [runs.Reader].
func (s heldStore) Effects(ctx context.Context, q runs.EffectQuery) ([]model.Effect, error) {
	q.Scope = scopeOf(ctx)
	return s.store.Effects(ctx, q)
}

// Claimable implements [runs.Reader].
func (s heldStore) Claimable(ctx context.Context, q runs.ClaimableQuery) ([]runs.Claimable, error) {
	q.Scope = scopeOf(ctx)
	return s.store.Claimable(ctx, q)
}

// Subscribe implements [runs.Service]. A notice names sessions and runs of all scopes, so subscribers must read
// them through this store before they show anything.
func (s heldStore) Subscribe(notify func(runs.Notice)) (unsubscribe func()) {
	return s.store.Subscribe(notify)
}

// NowMs implements [runs.Service].
func (s heldStore) NowMs(ctx context.Context) (int64, error) { return s.store.NowMs(ctx) }

// Ready implements [runs.Service].
func (s heldStore) Ready(ctx context.Context) error { return s.store.Ready(ctx) }
