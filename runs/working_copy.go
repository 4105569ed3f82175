package runs

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/chain"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// workingCopy holds one decision's changes. A row is copied when it is first needed and written
// only if it was saved, so the State does not change.
type workingCopy struct {
	state *State
	nowMs int64
	// actor is recorded as the cause of the events.
	actor string
	// caller issued the command; nil for the service itself.
	caller *auth.Identity

	session      *model.Session
	sessionNew   bool
	sessionSaved bool
	runs         map[string]*model.Run
	// requests has copies of the requests that this decision raises or settles.
	requests map[RequestKey]*model.Request
	// messages has copies of the messages that were read.
	messages map[string]*model.Message
	// rules has copies of the rules that this decision changes; nil until the first change.
	rules map[string]*rules.Rule
	// matched has the rule matches of the approvals that this decision raises; see checkMatched.
	matched *matchedRules
	// listedRequests caches all loaded requests of the run listedRunID. One run is enough, because
	// nearly every decision is about one run.
	listedRunID    string
	listedRequests []*model.Request
	changes        Change
	// owed has this decision's events for each webhook.
	owed []owedTo
	// brought has the encoded forms of the command's large values.
	brought broughtValues
}

func newWorkingCopy(state *State, nowMs int64) *workingCopy {
	w := &workingCopy{state: state, nowMs: nowMs}
	if state.Session != nil {
		session := *state.Session
		w.session = &session
	}
	return w
}

// change returns the decision's writes so far. Any write gives an existing session a new version.
func (w *workingCopy) change() Change {
	change := w.changes
	if w.sessionSaved || w.session != nil && !change.Empty() {
		change.Session, change.SessionNew = w.session, w.sessionNew
		w.session.Version = w.state.nextVersion()
	}
	return change
}

// nextVersion returns the session's next version. A new session starts at its Stamp, and an existing
// one grows by up to maxStep. 2^31 changes fit above the highest start.
func (s *State) nextVersion() int64 {
	const maxStep = 1 << 32
	if s.Session == nil {
		return max(s.Stamp, 1)
	}
	return s.Session.Version + 1 + s.Stamp%maxStep
}

// saveSession writes the session with the change. Call it after every edit.
func (w *workingCopy) saveSession() {
	w.session.UpdatedAtMs = w.nowMs
	w.sessionSaved = true
}

// countOutput counts one more output record of a run. The caller emits its event.
func (w *workingCopy) countOutput(run *model.Run) {
	run.OutputCount++
	w.session.OutputCount++
}

// run returns the working copy of one of the session's runs, or nil.
func (w *workingCopy) run(runID string) *model.Run {
	if run, seen := w.runs[runID]; seen {
		return run
	}
	row, there := w.state.Runs[runID]
	if !there || row.SessionID != w.state.SessionID {
		return nil
	}
	run := *row
	run.CheckpointSet = false
	put(&w.runs, runID, &run)
	return &run
}

// activeRun returns the working copy of the run with the session's slot, or nil.
func (w *workingCopy) activeRun() *model.Run {
	if w.session == nil || w.session.ActiveRunID == "" {
		return nil
	}
	return w.run(w.session.ActiveRunID)
}

// saveRun writes the run with the change. Call it after every edit.
func (w *workingCopy) saveRun(run *model.Run) {
	run.UpdatedAtMs = w.nowMs
	if !w.isSaved(run) {
		w.changes.UpdatedRuns = append(w.changes.UpdatedRuns, run)
	}
}

// isSaved reports whether the run is already in the change. It searches backward, because a run is
// usually saved again soon.
func (w *workingCopy) isSaved(run *model.Run) bool {
	for _, saved := range slices.Backward(w.changes.UpdatedRuns) {
		if saved == run {
			return true
		}
	}
	return slices.Contains(w.changes.NewRuns, run)
}

// addRun inserts the run with the change.
func (w *workingCopy) addRun(run *model.Run) {
	put(&w.runs, run.RunID, run)
	w.changes.NewRuns = append(w.changes.NewRuns, run)
}

// request returns the current version of a request, or nil. It may be the State's row: call
// editRequest before changing it.
func (w *workingCopy) request(runID, requestID string) *model.Request {
	key := RequestKey{runID, requestID}
	if request := w.requests[key]; request != nil {
		return request
	}
	return w.state.Requests[key]
}

// addRequest inserts the request with the change.
func (w *workingCopy) addRequest(request *model.Request) {
	w.listedRequests = append(w.requestsOf(request.RunID), request)
	put(&w.requests, RequestKey{request.RunID, request.RequestID}, request)
	w.changes.NewRequests = append(w.changes.NewRequests, request)
}

// editRequest returns the working copy of a request, which is written with the change.
func (w *workingCopy) editRequest(request *model.Request) *model.Request {
	key := RequestKey{request.RunID, request.RequestID}
	if working := w.requests[key]; working != nil {
		return working
	}
	working := *request
	put(&w.requests, key, &working)
	if w.listedRunID == request.RunID {
		place, _ := slices.BinarySearchFunc(w.listedRequests, request.Number, compareNumber)
		w.listedRequests[place] = &working
	}
	w.changes.SettledRequests = append(w.changes.SettledRequests, &working)
	return &working
}

// redeemRequest writes only the redemption of a request.
func (w *workingCopy) redeemRequest(request *model.Request, redemption model.Redemption) {
	working := *request
	working.Redemption = document.Encode(redemption)
	put(&w.requests, RequestKey{request.RunID, request.RequestID}, &working)
	w.listedRunID, w.listedRequests = "", nil
	w.changes.RedeemedRequests = append(w.changes.RedeemedRequests, &working)
}

func compareNumber(r *model.Request, number int64) int { return cmp.Compare(r.Number, number) }

// requestsOf returns the current versions of a run's loaded requests, in the order in which they
// were raised. Do not change the list, and do not use it after a request was edited or added.
func (w *workingCopy) requestsOf(runID string) []*model.Request {
	if w.listedRunID == runID {
		return w.listedRequests
	}
	var list []*model.Request
	for key := range w.state.Requests {
		if key.RunID == runID {
			list = append(list, w.request(runID, key.RequestID))
		}
	}
	slices.SortFunc(list, func(a, b *model.Request) int { return cmp.Compare(a.Number, b.Number) })
	w.listedRunID, w.listedRequests = runID, list
	return list
}

// openRequests returns the open requests of a run in the order in which they were raised.
func (w *workingCopy) openRequests(runID string) []*model.Request {
	var open []*model.Request
	for _, request := range w.requestsOf(runID) {
		if request.Open() {
			open = append(open, request)
		}
	}
	return open
}

// waitsFor reports whether the run has an open request of that kind.
func (w *workingCopy) waitsFor(runID string, kind model.RequestKind) bool {
	return slices.ContainsFunc(w.requestsOf(runID), func(r *model.Request) bool {
		return r.Open() && r.Kind == kind
	})
}

// parked reports whether a run waits for the answer to its clarification.
func (w *workingCopy) parked(runID string) bool {
	return slices.ContainsFunc(w.requestsOf(runID), func(r *model.Request) bool { return r.Open() && r.Parked() })
}

// emit appends an event of a run to the session's log, and saves the session. The caller saves
// the run. The JSON form of the body begins with its type.
func (w *workingCopy) emit(run *model.Run, eventType api.EventType, body any) {
	var text api.JSON
	if _, plain := body.(plainEvent); plain {
		text = api.JSON(`{"type":"` + eventType + `"}`)
	} else {
		text = document.Encode(body)
	}
	digest, err := chain.OwnBodyDigest(string(eventType), text)
	if err != nil {
		panic("runs: a body of an event has no canonical form: " + err.Error())
	}
	w.emitDigested(run, eventType, text, digest)
}

// emitMembers is emit for a body built from encoded parts. members has every member but the type.
func (w *workingCopy) emitMembers(run *model.Run, eventType api.EventType, members document.Object) {
	rest := members.Value()
	const start = `{"type":"`
	text := make(api.JSON, 0, len(start)+len(eventType)+len(`",`)+len(rest.Text))
	text = append(append(append(text, start...), eventType...), `",`...)
	w.emitDigested(run, eventType, append(text, rest.Text[1:]...), chain.DigestOfCanonical(rest.Canonical))
}

// emitResolved emits the event of approvals that were settled together.
func (w *workingCopy) emitResolved(run *model.Run, resolutions []document.Value) {
	w.emitMembers(run, api.EventApprovalResolved, document.Object{}.With("resolutions", document.Array(resolutions)))
}

// emitAnswered emits the event of a settled question.
func (w *workingCopy) emitAnswered(run *model.Run, resolution document.Value) {
	w.emitMembers(run, api.EventUserQuestionResolved, document.Object{}.With("resolution", resolution))
}

// emitDigested is emit for a body whose digest is known.
func (w *workingCopy) emitDigested(run *model.Run, eventType api.EventType, body api.JSON, digest string) {
	w.session.LastEventID++
	w.saveSession()
	run.LastEventID = w.session.LastEventID
	if run.FirstEventID == 0 {
		run.FirstEventID = w.session.LastEventID
	}
	event := &model.Event{
		SessionID: run.SessionID, EventID: w.session.LastEventID, RunID: run.RunID,
		AgentID: run.AgentID, Type: eventType, TimestampMs: w.nowMs, Body: body,
		Actor: cmp.Or(w.actor, api.ResolvedBySystem), BodyDigest: digest, Prev: w.session.LastEventHash,
	}
	w.session.LastEventHash = event.Hash()
	if event.EventID == 1 {
		w.session.Life = w.session.LastEventHash
	}
	w.changes.Events = append(w.changes.Events, event)
	if w.state.Webhooks != nil {
		w.oweWebhooks(event)
	}
}

// moveRun changes the status of a run and saves it. It panics on an illegal move: the caller must
// check first, so that is a defect of this package.
func (w *workingCopy) moveRun(run *model.Run, to api.Status) {
	if !CanMove(run.Kind, run.Status, to) {
		panic("runs: illegal move of run " + run.RunID + " from " + string(run.Status) + " to " + string(to))
	}
	run.Status = to
	w.saveRun(run)
}

// recordOf returns the current run and its requests for a view. Outputs are not loaded.
func (w *workingCopy) recordOf(run *model.Run) *model.RunRecord { return w.recordWith(run, "") }

// recordWith is recordOf with all requests of one suspension, even if a checkpoint includes their decisions.
func (w *workingCopy) recordWith(run *model.Run, suspensionID string) *model.RunRecord {
	requests := w.requestsOf(run.RunID)
	record := &model.RunRecord{Run: *run, Requests: make([]model.Request, 0, len(requests))}
	for _, request := range requests {
		if request.Open() || request.SettledNumber > run.ResumeAfter || suspensionID != "" && request.SuspensionID == suspensionID {
			record.Requests = append(record.Requests, *request)
		}
	}
	return record
}

// enqueueEffect writes a pending effect with the decision. It is due at once unless DueAtMs is
// later.
func (w *workingCopy) enqueueEffect(effect *model.Effect) {
	effect.State = api.EffectPending
	effect.CreatedAtMs = w.nowMs
	effect.DueAtMs = max(effect.DueAtMs, w.nowMs)
	w.changes.NewEffects = append(w.changes.NewEffects, effect)
}
