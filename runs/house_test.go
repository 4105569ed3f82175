package runs_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// startMs is the initial time of every house.
const startMs = 1_000_000

// house is an in-memory store: it decides each command on its session's whole state and applies the
// change. After every command it checks the general invariants (invariants_test.go), so that each
// test here checks them too.
type house struct {
	t      rapid.TB
	nowMs  int64
	ids    int
	states map[string]*runs.State
	events map[string][]*model.Event
	rules  map[string]*rules.Rule // for all sessions
	// rows are what a database would hold; pending are changes not yet written to them.
	rows    rows
	pending []runs.Change
	// unexamined leaves out what package doctor says of all rows, after all but the last of many equal commands.
	unexamined bool
}

func newHouse(t rapid.TB) *house {
	return &house{
		t: t, nowMs: startMs, states: map[string]*runs.State{}, events: map[string][]*model.Event{},
		rules: map[string]*rules.Rule{}, rows: newRows(),
	}
}

// newID generates ids that are the same in every run of a test.
func (h *house) newID(prefix string) string {
	h.ids++
	return fmt.Sprintf("%s_%03d", prefix, h.ids)
}

// do decides a command and writes its change.
func (h *house) do(command runs.Command) (runs.Reply, error) {
	h.t.Helper()
	reply, _, err := h.decide(command)
	h.flush()
	return reply, err
}

// decided is decide for a command that must be accepted.
func (h *house) decided(command runs.Command) (runs.Reply, runs.Change) {
	h.t.Helper()
	reply, change, err := h.decide(command)
	require.NoError(h.t, err, "%T", command)
	return reply, change
}

// must is do for a command that must be accepted.
func (h *house) must(command runs.Command) runs.Reply {
	h.t.Helper()
	reply, err := h.do(command)
	require.NoError(h.t, err, "%T", command)
	return reply
}

// refused is do for a command that must be refused with a code.
func (h *house) refused(code api.Code, command runs.Command) *refusal.Error {
	h.t.Helper()
	_, err := h.do(command)
	return requireCode(h.t, code, err)
}

func requireCode(t rapid.TB, code api.Code, err error) *refusal.Error {
	t.Helper()
	var refusal *refusal.Error
	require.ErrorAs(t, err, &refusal, "wanted %s", code)
	require.Equal(t, code, refusal.Code, refusal.Detail)
	return refusal
}

// decide prepares, decides and applies a command without writing the rows.
func (h *house) decide(command runs.Command) (runs.Reply, runs.Change, error) {
	h.t.Helper()
	if err := runs.Prepare(command, h.newID); err != nil {
		return runs.Reply{}, runs.Change{}, err
	}
	require.NoError(h.t, runs.CheckValues(context.Background(), h, command))
	needs := command.Needs()
	state := h.load(needs)
	before := copyState(state)

	change, reply, err := runs.Decide(state, command, h.nowMs)
	requireSame(h.t, before, state, "Decide changed the state that it was given")
	again, againReply, againErr := runs.Decide(state, command, h.nowMs)
	requireSame(h.t, change, again, "Decide decided otherwise the second time")
	requireSame(h.t, reply, againReply, "Decide answered otherwise the second time")
	require.Equal(h.t, err, againErr)
	h.decideOnLess(command, needs, state, change, reply, err)
	if again, _, _ := runs.Lacks(context.Background(), nil, command, err); again {
		return h.decide(command)
	}

	state.Apply(change)
	for _, rule := range slices.Concat(change.NewRules, change.UpdatedRules) {
		h.rules[rule.RuleID] = rule
	}
	dropStrangers(state)
	dropStrangers(before)
	if state.Session != nil {
		h.states[state.SessionID] = state
	}
	h.events[state.SessionID] = append(h.events[state.SessionID], change.Events...)
	h.pending = append(h.pending, change)
	h.checkInvariants(command, before, state, change, err)
	return reply, change, err
}

// load returns the whole state of the command's session.
func (h *house) load(needs runs.Needs) *runs.State {
	sessionID := needs.SessionID
	if sessionID == "" {
		sessionID = h.sessionOf(needs.RunID)
	}
	state := h.states[sessionID]
	if state == nil {
		state = runs.NewState(sessionID)
	}
	state.Rules = maps.Clone(h.rules)
	// A caller-chosen run id and a key without a session are unique across all sessions, so they are
	// looked up everywhere.
	for _, other := range h.states {
		for _, chosen := range []string{needs.ChosenRunID, needs.SegmentID} {
			if run := other.Runs[chosen]; run != nil && other != state {
				state = copyState(state)
				state.Runs[run.RunID] = run
			}
			if name := other.Records[model.NameKey(chosen)]; name != nil && other != state {
				state = copyState(state)
				state.Records[name.RecordKey] = name
			}
		}
		if needs.Record != nil && needs.Record.Scope != "" && other != state {
			if record := other.Records[*needs.Record]; record != nil {
				state = copyState(state)
				state.Records[*needs.Record] = record
			}
		}
	}
	return state
}

func (h *house) sessionOf(runID string) string {
	for sessionID, state := range h.states {
		if run := state.Runs[runID]; run != nil && run.SessionID == sessionID {
			return sessionID
		}
	}
	return ""
}

// decideOnLess decides again with only the rows that the command needs, as an engine loads them,
// and requires the same decision.
func (h *house) decideOnLess(command runs.Command, needs runs.Needs, state *runs.State, change runs.Change, reply runs.Reply, err error) {
	h.t.Helper()
	less := lessOf(state, needs)
	less.NotifyAfterMs, less.DefaultExpiryMs, less.Notifies, less.Escalations = state.NotifyAfterMs, state.DefaultExpiryMs, state.Notifies, state.Escalations
	lessChange, lessReply, lessErr := runs.Decide(less, command, h.nowMs)
	require.Equal(h.t, err, lessErr, "%T does not name all that it needs", command)
	requireSame(h.t, withoutPayload(change), withoutPayload(lessChange), "the command does not name all that it needs")
	if reply.Run != nil && lessReply.Run != nil {
		reply.Run, lessReply.Run = recordWithoutPayload(reply.Run), recordWithoutPayload(lessReply.Run)
	}
	requireSame(h.t, reply, lessReply, "the command does not name all that its reply needs")
}

// withoutPayload removes members that an engine does not load for every command.
func withoutPayload(change runs.Change) runs.Change {
	for _, list := range []*[]*model.Run{&change.NewRuns, &change.UpdatedRuns} {
		*list = slices.Clone(*list)
		for i, run := range *list {
			bare := *run
			bare.Input, bare.Checkpoint = nil, nil
			(*list)[i] = &bare
		}
	}
	return change
}

func recordWithoutPayload(record *model.RunRecord) *model.RunRecord {
	bare := *record
	bare.Run.Input, bare.Run.Checkpoint = nil, nil
	return &bare
}

// lessOf returns the rows that an engine loads for one command (see runs.Needs).
func lessOf(state *runs.State, needs runs.Needs) *runs.State {
	less := runs.NewState(state.SessionID)
	less.Session, less.RuleVersions, less.RuleCounts = state.Session, state.RuleVersions, state.RuleCounts
	if needs.Record != nil {
		key := *needs.Record
		if key.Scope == "" {
			key.Scope = state.SessionID
		}
		if record := state.Records[key]; record != nil {
			less.Records[key] = record
		}
	}
	for _, chosen := range []string{needs.ChosenRunID, needs.SegmentID} {
		if name := state.Records[model.NameKey(chosen)]; name != nil {
			less.Records[name.RecordKey] = name
		}
	}
	if needs.CountNames {
		less.NameCounts[needs.RunID] = state.NameCounts[needs.RunID]
	}
	keep := func(runID string) {
		if run := state.Runs[runID]; run != nil {
			kept := *run
			if !needs.Payload || runID != needs.RunID {
				kept.Input, kept.Checkpoint = nil, nil
			}
			less.Runs[runID] = &kept
		}
	}
	keep(needs.RunID)
	keep(needs.ChosenRunID)
	keep(needs.SegmentID)
	for _, run := range state.Runs {
		if needs.Clarifications && run.Kind == api.KindParentClarification && !model.Terminal(run.Status) {
			keep(run.RunID)
		}
	}
	keepOldest := func(needed bool, kind api.RunKind, ends func(*model.Run) bool) {
		oldest := slices.SortedFunc(maps.Values(state.Runs), func(a, b *model.Run) int { return cmp.Compare(a.FirstEventID, b.FirstEventID) })
		oldest = slices.DeleteFunc(oldest, func(run *model.Run) bool { return !needed || model.Terminal(run.Status) || !ends(run) })
		for _, run := range oldest[:min(len(oldest), runs.DrainChunk+1)] {
			keep(run.RunID)
		}
		if len(oldest) > runs.DrainChunk {
			less.Cut[kind] = oldest[runs.DrainChunk]
		}
	}
	keepOldest(needs.UnfinishedRuns, "", func(*model.Run) bool { return true })
	for _, kind := range []api.RunKind{api.KindParentClarification, api.KindCall} {
		keepOldest(needs.UnfinishedBesides, kind, func(run *model.Run) bool { return run.Kind == kind })
	}
	newest := map[string]*model.Request{}
	for _, request := range state.Requests {
		before := newest[request.RequestID]
		if request.SessionID == state.SessionID && request.Kind == needs.SessionRequestKind && slices.Contains(needs.SessionRequestIDs, request.RequestID) &&
			(before == nil || cmp.Or(cmp.Compare(before.CreatedAtMs, request.CreatedAtMs), cmp.Compare(before.RunID, request.RunID)) < 0) {
			newest[request.RequestID] = request
		}
	}
	for _, request := range newest {
		if needs.Clarifications {
			keep(request.RunID)
		}
	}
	for key, request := range state.Requests {
		named := request.SessionID == state.SessionID && request.Kind == needs.SessionRequestKind && slices.Contains(needs.SessionRequestIDs, key.RequestID)
		if needs.SessionRequestRuns && named && (request.Open() || newest[key.RequestID] == request) {
			keep(key.RunID)
		}
	}
	if state.Session != nil {
		keep(state.Session.ActiveRunID)
	}
	less.Queued = &runs.Held{} // as an engine counts it on request
	for place, run := range queueOf(state) {
		less.Queued.Rows++
		less.Queued.Bytes += int64(len(run.Input) + len(run.Metadata))
		if place < 2 {
			keep(run.RunID)
		}
	}
	for _, id := range []string{needs.EffectID, needs.AdvanceID} {
		if effect := state.Effects[id]; effect != nil {
			less.Effects[id] = effect
		}
	}
	for _, message := range mailboxOf(state) {
		if needs.Mailbox && message.State == api.MessagePending || needs.DeadLetters && message.State == api.MessageDeadLetter ||
			needs.RunMessages && message.RunID == needs.RunID {
			less.Messages[message.MessageID] = message
		}
	}
	if message := state.Messages[needs.MessageID]; message != nil {
		less.Messages[needs.MessageID] = message
	}
	for ruleID, rule := range state.Rules {
		held := rule.RevokedAtMs == 0
		applies := held && (rule.SessionID == state.SessionID || rule.SessionID == rules.AllSessions) &&
			(rule.Match.InputDigest == "" || slices.Contains(needs.RuleDigests, rule.Match.InputDigest))
		if needs.Rules && applies || ruleID == needs.RuleID || needs.SessionRules && held && rule.SessionID == state.SessionID {
			less.Rules[ruleID] = rule
		}
	}
	for key, request := range state.Requests {
		run := less.Runs[key.RunID]
		live := run != nil && (request.Open() || request.SettledNumber > run.ResumeAfter)
		named := key.RunID == needs.RunID &&
			(slices.Contains(needs.RequestIDs, key.RequestID) || needs.SuspensionID != "" && needs.SuspensionID == request.SuspensionID)
		inSession := slices.Contains(needs.SessionRequestIDs, key.RequestID) && request.SessionID == state.SessionID &&
			(request.Open() && request.Kind == needs.SessionRequestKind || state.Session != nil && key.RunID == state.Session.ActiveRunID ||
				newest[key.RequestID] == request)
		if live || named || inSession {
			less.Requests[key] = request
		}
	}
	return less
}

// queueOf returns the session's queued runs in queue order.
func queueOf(state *runs.State) []*model.Run {
	var queue []*model.Run
	for _, run := range state.Runs {
		if run.Status == api.StatusQueued && run.SessionID == state.SessionID {
			queue = append(queue, run)
		}
	}
	slices.SortFunc(queue, func(a, b *model.Run) int { return int(a.FirstEventID - b.FirstEventID) })
	return queue
}

// mailboxOf returns the unacknowledged messages, oldest first.
func mailboxOf(state *runs.State) []*model.Message {
	var mailbox []*model.Message
	for _, message := range state.Messages {
		if message.State != api.MessageAcknowledged {
			mailbox = append(mailbox, message)
		}
	}
	slices.SortFunc(mailbox, func(a, b *model.Message) int {
		return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), cmp.Compare(a.MessageID, b.MessageID))
	})
	return mailbox
}

// copyState copies every row, to detect writes to them.
func copyState(state *runs.State) *runs.State {
	copied := runs.NewState(state.SessionID)
	copied.RuleVersions, copied.RuleCounts = state.RuleVersions, maps.Clone(state.RuleCounts)
	copied.NameCounts = maps.Clone(state.NameCounts)
	if state.Session != nil {
		session := *state.Session
		session.Metadata = slices.Clone(session.Metadata)
		copied.Session = &session
	}
	for runID, row := range state.Runs {
		copied.Runs[runID] = copyRun(row)
	}
	for key, row := range state.Requests {
		request := *row
		request.Body, request.Resolution = slices.Clone(request.Body), slices.Clone(request.Resolution)
		request.PartialAnswers = slices.Clone(request.PartialAnswers)
		copied.Requests[key] = &request
	}
	for key, row := range state.Records {
		record := *row
		copied.Records[key] = &record
	}
	for effectID, row := range state.Effects {
		effect := *row
		effect.Payload = slices.Clone(effect.Payload)
		copied.Effects[effectID] = &effect
	}
	for messageID, row := range state.Messages {
		message := *row
		message.Payload = slices.Clone(message.Payload)
		copied.Messages[messageID] = &message
	}
	for ruleID, row := range state.Rules {
		rule := *row
		rule.Match.PatternKeys, rule.Match.Params = slices.Clone(rule.Match.PatternKeys), maps.Clone(rule.Match.Params)
		copied.Rules[ruleID] = &rule
	}
	copied.NotifyAfterMs, copied.DefaultExpiryMs, copied.Notifies, copied.Escalations = state.NotifyAfterMs, state.DefaultExpiryMs, state.Notifies, state.Escalations
	return copied
}

func copyRun(row *model.Run) *model.Run {
	run := *row
	run.Metadata, run.Requester, run.Output = slices.Clone(run.Metadata), slices.Clone(run.Requester), slices.Clone(run.Output)
	run.Input, run.Checkpoint = slices.Clone(run.Input), slices.Clone(run.Checkpoint)
	return &run
}

// dropStrangers removes rows of other sessions.
func dropStrangers(state *runs.State) {
	maps.DeleteFunc(state.Runs, func(_ string, run *model.Run) bool { return run.SessionID != state.SessionID })
	maps.DeleteFunc(state.Records, func(_ model.RecordKey, record *model.IdempotencyRecord) bool {
		return record.SessionID != state.SessionID
	})
}

// requireSame compares domain documents member by member.
func requireSame(t rapid.TB, want, got any, message string, options ...gocmp.Option) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // the detailed comparison below is slow
	}
	options = append(options, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(runs.Change{}, runs.OpenClarification{}))
	require.Empty(t, gocmp.Diff(want, got, options...), message)
}

// run returns the row of a run.
func (h *house) run(runID string) *model.Run {
	h.t.Helper()
	state := h.states[h.sessionOf(runID)]
	require.NotNil(h.t, state, "no run %s", runID)
	return state.Runs[runID]
}

// request returns the row of a request.
func (h *house) request(runID, requestID string) *model.Request {
	h.t.Helper()
	request := h.states[h.sessionOf(runID)].Requests[runs.RequestKey{RunID: runID, RequestID: requestID}]
	require.NotNil(h.t, request, "no request %s", requestID)
	return request
}

// record returns the run with its requests, as a reader returns them.
func (h *house) record(runID string) *model.RunRecord {
	h.t.Helper()
	reply := h.must(&runs.ExpireRequests{RunID: runID})
	return reply.Run
}

// eventTypes returns the types of a run's events, in their order.
func (h *house) eventTypes(runID string) []api.EventType {
	var types []api.EventType
	for _, event := range h.events[h.sessionOf(runID)] {
		if event.RunID == runID {
			types = append(types, event.Type)
		}
	}
	return types
}
