package door

import (
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// decision is the outcome of a call, held until the transaction is durable.
type decision struct {
	call  *call
	reply runs.Reply
	err   error
}

// decisions collects the decisions of one transaction.
type decisions struct {
	all       []decision
	changes   []runs.Change
	changed   []*changedSession
	bySession map[string]*changedSession
	// handed are the claims that were decided for waiting workers.
	handed []handed
	taker  runs.Taker
}

func (d *decisions) grow(calls int) {
	d.all = slices.Grow(d.all, calls)
	d.changes = slices.Grow(d.changes, calls)
	d.changed = slices.Grow(d.changed, calls)
}

// add records a decision and applies its change to the state.
func (d *decisions) add(decided *call, state *runs.State, nowMs int64, change runs.Change, reply runs.Reply, err error) {
	d.all = append(d.all, decision{decided, reply, err})
	if !change.Empty() {
		d.apply(state, nowMs, change)
	}
}

func (d *decisions) apply(state *runs.State, nowMs int64, change runs.Change) {
	session := d.bySession[state.SessionID]
	if session == nil {
		session = &changedSession{state: state, nowMs: nowMs, claimableBefore: map[string]int64{}}
		if d.bySession == nil {
			d.bySession = map[string]*changedSession{}
		}
		d.bySession[state.SessionID] = session
		d.changed = append(d.changed, session)
	}
	session.addChange(change)
	state.Apply(change)
	d.changes = append(d.changes, change)
}

// changedSession collects the changes of one session for its notice.
type changedSession struct {
	state *runs.State
	// nowMs is the time of all its decisions in the batch.
	nowMs int64
	// claimableBefore holds the ClaimableAtMs of each changed run before the batch. touched has
	// their ids in order.
	claimableBefore map[string]int64
	touched         []string
	// changedEffects are the ids of the effects written by the batch.
	changedEffects []string
	// events are the events written by the batch.
	events  []*model.Event
	prompts bool
}

// addChange must be called before the change is applied to the state.
func (s *changedSession) addChange(change runs.Change) {
	s.events = append(s.events, change.Events...)
	for _, event := range change.Events {
		s.prompts = s.prompts || model.AboutRequest(event.Type)
	}
	for _, list := range [][]*model.Effect{change.NewEffects, change.UpdatedEffects} {
		for _, effect := range list {
			if !slices.Contains(s.changedEffects, effect.EffectID) {
				s.changedEffects = append(s.changedEffects, effect.EffectID)
			}
		}
	}
	for _, list := range [][]*model.Run{change.NewRuns, change.UpdatedRuns} {
		for _, run := range list {
			if _, seen := s.claimableBefore[run.RunID]; seen {
				continue
			}
			var before int64
			if row := s.state.Runs[run.RunID]; row != nil {
				before = row.ClaimableAtMs
			}
			s.claimableBefore[run.RunID] = before
			s.touched = append(s.touched, run.RunID)
		}
	}
}

// claimable returns the runs that became claimable in the batch.
func (s *changedSession) claimable() []reads.Claimable {
	var claimable []reads.Claimable
	for _, runID := range s.touched {
		run := s.state.Runs[runID]
		if at := run.ClaimableAtMs; at != 0 && at <= s.nowMs && at != s.claimableBefore[runID] {
			claimable = append(claimable, reads.Claimable{
				RunID: run.RunID, SessionID: run.SessionID, AgentID: run.AgentID, ClaimableAtMs: at, Principal: run.Principal, HolderPrincipal: run.HolderPrincipal,
			})
		}
	}
	return claimable
}

func (s *changedSession) notice() reads.Notice {
	notice := reads.Notice{SessionID: s.state.SessionID, Prompts: s.prompts, Events: s.events}
	if len(s.events) > 0 {
		notice.FirstEventID = s.events[0].EventID
	}
	if s.state.Session != nil {
		notice.LastEventID, notice.Life = s.state.Session.LastEventID, model.MarkOf(s.state.Session.Life)
	}
	notice.Claimable = s.claimable()
	for _, effectID := range s.changedEffects {
		if effect := s.state.Effects[effectID]; effect.DueAtMs != 0 && effect.DueAtMs <= s.nowMs {
			notice.Owed = append(notice.Owed, reads.DueEffect{SessionID: s.state.SessionID, EffectID: effectID})
		}
	}
	return notice
}
