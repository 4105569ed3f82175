package runs

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/webhooks"
)

// RequestKey identifies a request in its session.
type RequestKey struct {
	RunID     string
	RequestID string
}

// State has the rows from which decisions about one session are made. An engine fills it under
// the session's lock with the rows that the waiting commands' Needs name. An absent row was not
// requested or does not exist. A map may be nil.
type State struct {
	SessionID string
	// Stamp is unique among the session's decisions, from 0 to MaxStamp. The versions that the
	// decision assigns grow by it. Only tests leave it 0.
	Stamp int64
	// Session is nil when it does not exist.
	Session  *model.Session
	Runs     map[string]*model.Run
	Requests map[RequestKey]*model.Request
	// LeftOut has unfinished runs, by RunID, whose requests were not loaded because of the byte limit.
	// A drain leaves them for later.
	LeftOut map[string]bool
	// Cut has the last run that was loaded for UnfinishedRuns, under "", and for UnfinishedBesides, by
	// kind, where the limits may have left out later ones. Earlier commands of the batch may have ended
	// the loaded runs, so these do not tell whether others are left.
	Cut map[api.RunKind]*model.Run
	// Queued counts the queued runs, with the bytes of their inputs and metadata. OpenCalls counts the
	// open requests of calls, with their bytes. OpenClarifications counts the open clarifications, with
	// their questions and partial answers. Mailbox counts the unacknowledged messages, with their
	// payloads. Each is nil when it was not counted.
	Queued, OpenCalls, OpenClarifications, Mailbox *Held

	Records  map[model.RecordKey]*model.IdempotencyRecord
	Effects  map[string]*model.Effect  // by EffectID
	Messages map[string]*model.Message // by MessageID
	Rules    map[string]*rules.Rule    // by RuleID
	// RuleVersions are the versions of the rules in force in the session.
	RuleVersions RuleVersions
	// NameCounts has, by run, the number of names of the run and its parts, counted up to
	// MaxRunNames.
	NameCounts map[string]int64
	// RuleCounts has the counts for the session and for rules.AllSessions, by session.
	RuleCounts map[string]RuleCount
	// Tokens have the members that [auth.Token.Accepts] reads, by TokenID.
	Tokens map[string]*auth.Token
	// SignIns has the TokenID of each sign-in that has not ended, by the hash of its cookie.
	SignIns map[string]string
	// Webhooks are the webhooks that events are delivered to; nil for none. The process sets them; an
	// engine does not load them.
	Webhooks *webhooks.Set
	// NotifyAfterMs is how long a request is open before people are notified; 0 for never. No engine
	// loads it.
	NotifyAfterMs int64
	// Notifies says that the process notifies people, even if nobody can be notified yet. Escalations are
	// its settings of escalations. No engine loads them.
	Notifies    bool
	Escalations *escalation.Settings
	// DefaultExpiryMs is the deadline of requests that are raised without one; 0 for none. No engine
	// loads it.
	DefaultExpiryMs int64
}

// RuleCount counts the rules in force, with the bytes of their matches, texts and reasons. It counts
// non-exact rules, and a session's exact rules separately. Rules that ended in the same batch are
// included.
type RuleCount struct {
	Rules, Bytes      int64
	Exact, ExactBytes int64
}

// Held counts the rows of one kind that a session holds, and their bytes.
type Held struct{ Rows, Bytes int64 }

func (h *Held) add(bytes int) {
	if h != nil {
		h.Rows++
		h.Bytes += int64(bytes)
	}
}

// queuedBytes is a queued run's size, as the engines count it.
func queuedBytes(run *model.Run) int { return len(run.Input) + len(run.Metadata) }

// NewState returns an empty state for a session.
func NewState(sessionID string) *State {
	return &State{
		SessionID: sessionID,
		Runs:      map[string]*model.Run{},
		Requests:  map[RequestKey]*model.Request{},
		LeftOut:   map[string]bool{},
		Cut:       map[api.RunKind]*model.Run{},
		Records:   map[model.RecordKey]*model.IdempotencyRecord{},
		Effects:   map[string]*model.Effect{},
		Messages:  map[string]*model.Message{},
		Rules:     map[string]*rules.Rule{}, RuleCounts: map[string]RuleCount{},
		NameCounts: map[string]int64{},
		Tokens:     map[string]*auth.Token{}, SignIns: map[string]string{},
	}
}

// Change is what a decision writes.
type Change struct {
	// Session is nil when it does not change. SessionNew says that the row is inserted.
	Session    *model.Session
	SessionNew bool
	Rows

	// dequeued has the FirstEventID of runs that left the queue. Apply moves up the runs behind them.
	dequeued []int64
}

// Empty reports whether the change writes nothing.
func (c *Change) Empty() bool {
	return c.Session == nil && len(c.NewRuns) == 0 && len(c.UpdatedRuns) == 0 &&
		len(c.NewRequests) == 0 && len(c.SettledRequests) == 0 && len(c.RedeemedRequests) == 0 && len(c.Events) == 0 && len(c.Records) == 0 &&
		len(c.NewEffects) == 0 && len(c.UpdatedEffects) == 0 && len(c.NewMessages) == 0 && len(c.UpdatedMessages) == 0 &&
		len(c.NewRules) == 0 && len(c.UpdatedRules) == 0 && len(c.Entries) == 0
}

// Apply applies the change to the state, so that the next command of the batch sees it. The state
// then shares row images with the change; decisions never write to the rows of a State.
func (s *State) Apply(change Change) {
	if change.Session != nil {
		s.Session = change.Session
	}
	for _, run := range change.NewRuns {
		switch {
		case run.Status == api.StatusQueued:
			s.Queued.add(queuedBytes(run))
		case run.Kind == api.KindParentClarification:
			s.OpenClarifications.add(2 * len(run.Input))
		}
	}
	for _, request := range change.NewRequests {
		if run := newRun(&change, request.RunID); run != nil && run.Kind == api.KindCall {
			s.OpenCalls.add(len(request.Body))
		}
	}
	for _, message := range change.NewMessages {
		s.Mailbox.add(len(message.Payload))
	}
	for _, list := range [][]*model.Run{change.NewRuns, change.UpdatedRuns} {
		for _, run := range list {
			put(&s.Runs, run.RunID, run)
		}
	}
	for _, list := range [][]*model.Request{change.NewRequests, change.SettledRequests, change.RedeemedRequests} {
		for _, request := range list {
			put(&s.Requests, RequestKey{request.RunID, request.RequestID}, request)
		}
	}
	for _, record := range change.Records {
		put(&s.Records, record.RecordKey, record)
		if record.Operation == model.OperationName {
			put(&s.NameCounts, record.RunID, s.NameCounts[record.RunID]+1)
		}
	}
	for _, list := range [][]*model.Effect{change.NewEffects, change.UpdatedEffects} {
		for _, effect := range list {
			put(&s.Effects, effect.EffectID, effect)
		}
	}
	for _, list := range [][]*model.Message{change.NewMessages, change.UpdatedMessages} {
		for _, message := range list {
			put(&s.Messages, message.MessageID, message)
		}
	}
	for _, rule := range change.NewRules {
		count := s.RuleCounts[rule.SessionID]
		count.add(rule)
		put(&s.RuleCounts, rule.SessionID, count)
	}
	for _, list := range [][]*rules.Rule{change.NewRules, change.UpdatedRules} {
		for _, rule := range list {
			put(&s.Rules, rule.RuleID, rule)
			s.noteChange(rule)
		}
	}
	s.moveUp(change.dequeued)
}

// newRun returns the inserted run with that id, or nil.
func newRun(change *Change, runID string) *model.Run {
	for _, run := range change.NewRuns {
		if run.RunID == runID {
			return run
		}
	}
	return nil
}

// put sets a value of a map and creates the map if necessary. Empty maps would cost heap objects.
func put[K comparable, V any](values *map[K]V, key K, value V) {
	if *values == nil {
		*values = map[K]V{}
	}
	(*values)[key] = value
}

// noteChange bumps the rule version, so that a command of the same batch that was already matched is
// matched again.
func (s *State) noteChange(rule *rules.Rule) {
	switch {
	case rule.Exact():
	case rule.SessionID == rules.AllSessions:
		s.RuleVersions.OfAll++
	default:
		s.RuleVersions.OfSession++
	}
}

// moveUp corrects QueuedAhead of the runs behind those that left the queue. dequeued has the
// FirstEventID of each.
func (s *State) moveUp(dequeued []int64) {
	if len(dequeued) == 0 {
		return
	}
	left := slices.Sorted(slices.Values(dequeued))
	for runID, run := range s.Runs {
		if run.Status != api.StatusQueued || run.SessionID != s.SessionID {
			continue
		}
		if passed, _ := slices.BinarySearch(left, run.FirstEventID); passed > 0 {
			moved := *run
			moved.QueuedAhead -= int64(passed)
			s.Runs[runID] = &moved
		}
	}
}
