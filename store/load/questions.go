package load

import (
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
)

// Key says which keys of one kind a batch needs: once per session, whatever its commands need,
// or for the needs of each command.
type Key struct {
	// Parts is how many parts each key has.
	Parts     int
	ofSession func(load *door.Load, add func(tuple))
	ofNeeds   func(sessionID string, n *runs.Needs, add func(tuple))
}

// Question is one statement of a load.
type Question struct {
	// Name is the key of the statement in the table of each engine.
	Name string
	// Keys are the arguments. The question is asked when the first list is not empty.
	Keys []Key
	read func(s *States, rows columns.Rows) error
}

// Questions is the table of needs: the rows to read, and their destination. The order matters:
// first the locks of sessions, payloads after their runs, and locked rules after those that are
// only read.
var Questions = []Question{
	{"sessions", []Key{eachSession}, (*States).readSessions},
	// The named runs, the active ones, and the first of each queue, because any command may
	// start the next run.
	{"runs", []Key{queueHeads, namedRuns}, (*States).readRuns},
	// The open and the Resume's requests of the named and the active runs. Queued runs have no
	// requests yet.
	{"requests", []Key{eachSession, namedRuns}, (*States).readRequests},
	{"named requests", []Key{{Parts: 3, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) {
		for _, id := range n.RequestIDs {
			addIf(n.RunID != "", add, tuple{s, n.RunID, id})
		}
	}}}, (*States).readRequests},
	{"suspensions", []Key{{Parts: 3, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) {
		addIf(n.RunID != "" && n.SuspensionID != "", add, tuple{s, n.RunID, n.SuspensionID})
	}}}, (*States).readRequests},
	{"session requests", []Key{sessionRequests(func(*runs.Needs) bool { return true })}, (*States).readRequests},
	{"runs of session requests", []Key{sessionRequests(func(n *runs.Needs) bool { return n.Clarifications })}, (*States).readStartedRuns},
	{"all runs of session requests", []Key{sessionRequests(func(n *runs.Needs) bool { return n.SessionRequestRuns })}, (*States).readStartedRuns},
	{"requests of all runs of session requests", []Key{sessionRequests(func(n *runs.Needs) bool { return n.SessionRequestRuns })}, (*States).readRequests},
	{"unfinished runs", []Key{unfinishedRuns}, (*States).readUnfinishedRuns},
	{"requests of unfinished runs", []Key{unfinishedRuns}, (*States).readRequests},
	{"chosen runs", []Key{chosenRuns}, (*States).readChosenRuns},
	{"requests of chosen runs", []Key{chosenRuns}, (*States).readChosenRequests},
	{"clarifications", []Key{sessionsIf(func(n *runs.Needs) bool { return n.Clarifications })}, (*States).readStartedRuns},
	{"requests of clarifications", []Key{sessionsIf(func(n *runs.Needs) bool { return n.Clarifications })}, (*States).readRequests},
	{"effects", []Key{{Parts: 2, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) {
		addIf(n.EffectID != "", add, tuple{s, n.EffectID})
		addIf(n.AdvanceID != "", add, tuple{s, n.AdvanceID})
	}}}, (*States).readEffects},
	{"messages", []Key{pairs(func(n *runs.Needs) string { return n.MessageID })}, (*States).readMessages},
	{"messages of runs", []Key{pairs(func(n *runs.Needs) string { return textIf(n.RunMessages, n.RunID) })}, (*States).readMessages},
	{"mailboxes", []Key{{Parts: 4, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) {
		rows, bytes := strconv.Itoa(model.MaxMailboxMessages), strconv.Itoa(model.MaxMailboxBytes)
		addIf(n.Mailbox, add, tuple{s, string(api.MessagePending), rows, bytes})
		addIf(n.DeadLetters, add, tuple{s, string(api.MessageDeadLetter), rows, bytes})
	}}}, (*States).readMessages},
	{"queues", []Key{sessionsIf(func(n *runs.Needs) bool { return n.CountQueue })}, readHeld(func(s *runs.State) **runs.Held { return &s.Queued })},
	{"open calls", []Key{sessionsIf(func(n *runs.Needs) bool { return n.CountCalls })}, readHeld(func(s *runs.State) **runs.Held { return &s.OpenCalls })},
	{"open clarifications", []Key{sessionsIf(func(n *runs.Needs) bool { return n.CountClarifications })}, readHeld(func(s *runs.State) **runs.Held { return &s.OpenClarifications })},
	{"mailbox sizes", []Key{sessionsIf(func(n *runs.Needs) bool { return n.CountMailbox })}, readHeld(func(s *runs.State) **runs.Held { return &s.Mailbox })},
	// A session need not exist to have rules.
	{"rule versions", []Key{{Parts: 1, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) {
		addIf(n.Rules, add, tuple{rules.AllSessions})
		addIf(n.Rules, add, tuple{s})
	}}}, (*States).readRuleVersions},
	{"exact rules", []Key{{Parts: 2, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) {
		for _, digest := range n.RuleDigests {
			addIf(n.Rules, add, tuple{rules.AllSessions, digest})
			addIf(n.Rules, add, tuple{s, digest})
		}
	}}}, (*States).readExactRules},
	{"rule counts", []Key{{Parts: 1, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) {
		addIf(n.CountRules, add, tuple{rules.AllSessions})
		addIf(n.CountRules, add, tuple{s})
	}}}, (*States).readRuleCounts},
	{"session rules", []Key{sessionsIf(func(n *runs.Needs) bool { return n.SessionRules })}, (*States).readSessionRules},
	{"named rules", []Key{{Parts: 1, ofNeeds: func(_ string, n *runs.Needs, add func(tuple)) {
		addIf(n.RuleID != "", add, tuple{n.RuleID})
	}}}, (*States).readNamedRules},
	{"tokens", []Key{{Parts: 1, ofNeeds: func(_ string, n *runs.Needs, add func(tuple)) {
		addIf(n.TokenID != "", add, tuple{n.TokenID})
	}}}, (*States).readTokens},
	{"sign-ins", []Key{{Parts: 1, ofNeeds: func(_ string, n *runs.Needs, add func(tuple)) {
		addIf(n.CookieHash != "", add, tuple{n.CookieHash})
	}}}, (*States).readSignIns},
	{"payloads", []Key{pairs(func(n *runs.Needs) string { return textIf(n.Payload, n.RunID) })}, (*States).readPayloads},
	{"records", []Key{{Parts: 3, ofNeeds: func(_ string, n *runs.Needs, add func(tuple)) {
		for _, key := range recordKeys(n) {
			add(tuple{key.Scope, string(key.Operation), key.IdempotencyKey})
		}
	}}}, (*States).readRecords},
	{"name counts", []Key{pairs(func(n *runs.Needs) string { return textIf(n.CountNames, n.RunID) })}, (*States).readNameCounts},
}

var (
	eachSession = Key{Parts: 1, ofSession: func(load *door.Load, add func(tuple)) { add(tuple{load.SessionID}) }}
	// queueHeads are the sessions with how many queued runs a batch may reach.
	queueHeads = Key{Parts: 2, ofSession: func(load *door.Load, add func(tuple)) {
		add(tuple{load.SessionID, strconv.Itoa(len(load.Needs) + 1)})
	}}
	namedRuns  = pairs(func(n *runs.Needs) string { return n.RunID })
	chosenRuns = Key{Parts: 1, ofNeeds: func(_ string, n *runs.Needs, add func(tuple)) {
		addIf(n.ChosenRunID != "", add, tuple{n.ChosenRunID})
		addIf(n.SegmentID != "", add, tuple{n.SegmentID})
	}}
)

// recordKeys are the records of a command: its own, and of names that it chooses.
func recordKeys(n *runs.Needs) []model.RecordKey {
	var keys []model.RecordKey
	if n.Record != nil {
		keys = append(keys, *n.Record)
	}
	for _, name := range []string{n.ChosenRunID, n.SegmentID} {
		if name != "" {
			keys = append(keys, model.NameKey(name))
		}
	}
	return keys
}

func chooses(n *runs.Needs, id string) bool { return n.ChosenRunID == id || n.SegmentID == id }

// sessionsIf are the sessions with a command of which a need is true.
func sessionsIf(needed func(*runs.Needs) bool) Key {
	return Key{Parts: 1, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) { addIf(needed(n), add, tuple{s}) }}
}

// pairs are the session and an id, where the id is not empty.
func pairs(id func(*runs.Needs) string) Key {
	return Key{Parts: 2, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) { addIf(id(n) != "", add, tuple{s, id(n)}) }}
}

func sessionRequests(needed func(*runs.Needs) bool) Key {
	return Key{Parts: 3, ofNeeds: func(s string, n *runs.Needs, add func(tuple)) {
		for _, id := range n.SessionRequestIDs {
			addIf(needed(n), add, tuple{s, id, string(n.SessionRequestKind)})
		}
	}}
}

func addIf(needed bool, add func(tuple), key tuple) {
	if needed {
		add(key)
	}
}

func textIf(needed bool, text string) string {
	if !needed {
		return ""
	}
	return text
}

// stateOf calls put with the state of each session with a command that has such a need.
func (s *States) stateOf(needed func(*runs.Needs) bool, put func(*runs.State)) {
	for i := range s.loads {
		for n := range s.loads[i].Needs {
			if needed(&s.loads[i].Needs[n]) {
				put(s.of[s.loads[i].SessionID])
			}
		}
	}
}

func (s *States) readSessions(rows columns.Rows) error {
	return columns.Sessions.Each(rows, func(row *model.Session) {
		s.of[row.SessionID].Session = row
		s.loaded[row.SessionID] = row
	})
}

// readRuns expects the place in the queue after the columns of each run.
func (s *States) readRuns(rows columns.Rows) error {
	return columns.Each(rows, columns.ShownRun, func(r *model.Run) { s.of[r.SessionID].Runs[r.RunID] = r })
}

// readStartedRuns reads runs with requests, which have no place in the queue.
func (s *States) readStartedRuns(rows columns.Rows) error {
	return columns.Runs.Each(rows, func(r *model.Run) { s.of[r.SessionID].Runs[r.RunID] = r })
}

// readChosenRuns puts each run into the states that chose its id, whatever its session.
func (s *States) readChosenRuns(rows columns.Rows) error {
	return columns.Each(rows, columns.ShownRun, func(r *model.Run) {
		s.stateOf(func(n *runs.Needs) bool { return chooses(n, r.RunID) }, func(state *runs.State) { state.Runs[r.RunID] = r })
	})
}

func (s *States) readRequests(rows columns.Rows) error {
	return columns.Requests.Each(rows, func(q *model.Request) {
		s.of[q.SessionID].Requests[runs.RequestKey{RunID: q.RunID, RequestID: q.RequestID}] = q
	})
}

func (s *States) readChosenRequests(rows columns.Rows) error {
	return columns.Requests.Each(rows, func(q *model.Request) {
		s.stateOf(func(n *runs.Needs) bool { return chooses(n, q.RunID) }, func(state *runs.State) {
			state.Requests[runs.RequestKey{RunID: q.RunID, RequestID: q.RequestID}] = q
		})
	})
}

func (s *States) readEffects(rows columns.Rows) error {
	return columns.Effects.Each(rows, func(f *model.Effect) { s.of[f.SessionID].Effects[f.EffectID] = f })
}

func (s *States) readMessages(rows columns.Rows) error {
	return columns.Messages.Each(rows, func(m *model.Message) { s.of[m.SessionID].Messages[m.MessageID] = m })
}

// heldBy counts a session's rows of one kind.
type heldBy struct {
	sessionID string
	runs.Held
}

// readHeld returns how counts are read that go to one place in the state.
func readHeld(place func(*runs.State) **runs.Held) func(s *States, rows columns.Rows) error {
	targets := func(h *heldBy) []any { return []any{&h.sessionID, &h.Rows, &h.Bytes} }
	return func(s *States, rows columns.Rows) error {
		return columns.Each(rows, targets, func(h *heldBy) { *place(s.of[h.sessionID]) = &h.Held })
	}
}

// ruleVersion is the version of the rules of a session, or of all.
type ruleVersion struct {
	sessionID string
	version   int64
}

func (s *States) readRuleVersions(rows columns.Rows) error {
	targets := func(v *ruleVersion) []any { return []any{&v.sessionID, &v.version} }
	return columns.Each(rows, targets, func(v *ruleVersion) {
		if v.sessionID != rules.AllSessions {
			s.of[v.sessionID].RuleVersions.OfSession = v.version
			return
		}
		s.stateOf(func(n *runs.Needs) bool { return n.Rules }, func(state *runs.State) { state.RuleVersions.OfAll = v.version })
	})
}

// ruleCount is the count of the rules of a session, or of all.
type ruleCount struct {
	sessionID string
	runs.RuleCount
}

func (s *States) readRuleCounts(rows columns.Rows) error {
	targets := func(c *ruleCount) []any {
		return []any{&c.sessionID, &c.Rules, &c.Bytes, &c.Exact, &c.ExactBytes}
	}
	return columns.Each(rows, targets, func(c *ruleCount) {
		if state := s.of[c.sessionID]; state != nil {
			state.RuleCounts[c.sessionID] = c.RuleCount
		}
		if c.sessionID == rules.AllSessions {
			s.stateOf(func(n *runs.Needs) bool { return n.CountRules }, func(state *runs.State) { state.RuleCounts[c.sessionID] = c.RuleCount })
		}
	})
}

func (s *States) readExactRules(rows columns.Rows) error {
	return columns.Rules.Each(rows, func(rule *rules.Rule) {
		if rule.SessionID != rules.AllSessions {
			s.of[rule.SessionID].Rules[rule.RuleID] = rule
			return
		}
		digest := rule.Match.InputDigest
		s.stateOf(func(n *runs.Needs) bool {
			return n.Rules && slices.Contains(n.RuleDigests, digest)
		}, func(state *runs.State) { state.Rules[rule.RuleID] = rule })
	})
}

func (s *States) readSessionRules(rows columns.Rows) error {
	return columns.Rules.Each(rows, func(rule *rules.Rule) { s.of[rule.SessionID].Rules[rule.RuleID] = rule })
}

func (s *States) readNamedRules(rows columns.Rows) error {
	return columns.Rules.Each(rows, func(rule *rules.Rule) {
		s.stateOf(func(n *runs.Needs) bool { return n.RuleID == rule.RuleID }, func(state *runs.State) { state.Rules[rule.RuleID] = rule })
	})
}

func (s *States) readTokens(rows columns.Rows) error {
	targets := func(t *auth.Token) []any {
		return []any{&t.TokenID, &t.SecretHash, &t.PreviousHash, &t.PreviousUntilMs, &t.ExpiresAtMs, &t.RevokedAtMs}
	}
	return columns.Each(rows, targets, func(t *auth.Token) {
		s.stateOf(func(n *runs.Needs) bool { return n.TokenID == t.TokenID }, func(state *runs.State) { state.Tokens[t.TokenID] = t })
	})
}

// signIn is a browser that is signed in with a token.
type signIn struct{ cookieHash, tokenID string }

func (s *States) readSignIns(rows columns.Rows) error {
	targets := func(i *signIn) []any { return []any{&i.cookieHash, &i.tokenID} }
	return columns.Each(rows, targets, func(i *signIn) {
		s.stateOf(func(n *runs.Needs) bool { return n.CookieHash == i.cookieHash }, func(state *runs.State) { state.SignIns[i.cookieHash] = i.tokenID })
	})
}

// payload has the large columns of a run.
type payload struct {
	sessionID, runID  string
	input, checkpoint []byte
}

func (s *States) readPayloads(rows columns.Rows) error {
	targets := func(p *payload) []any { return []any{&p.sessionID, &p.runID, &p.input, &p.checkpoint} }
	return columns.Each(rows, targets, func(p *payload) {
		if run := s.of[p.sessionID].Runs[p.runID]; run != nil {
			run.Input, run.Checkpoint = p.input, p.checkpoint
		}
	})
}

func (s *States) readRecords(rows columns.Rows) error {
	return columns.Records.Each(rows, func(i *model.IdempotencyRecord) {
		s.stateOf(func(n *runs.Needs) bool { return slices.Contains(recordKeys(n), i.RecordKey) }, func(state *runs.State) {
			state.Records[i.RecordKey] = i
		})
	})
}

// nameCount is how many names a run has.
type nameCount struct {
	sessionID, runID string
	names            int64
}

func (s *States) readNameCounts(rows columns.Rows) error {
	targets := func(c *nameCount) []any { return []any{&c.sessionID, &c.runID, &c.names} }
	return columns.Each(rows, targets, func(c *nameCount) { s.of[c.sessionID].NameCounts[c.runID] = c.names })
}
