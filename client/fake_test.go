package client_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// fake is an in-memory service: the real domain behind a hand-written HTTP server, with the
// test's clock. Its State keeps every row of every session.
type fake struct {
	mux *http.ServeMux
	// before, if set, sees every request first and may answer it.
	before func(w http.ResponseWriter, r *http.Request) (answered bool)

	mu       sync.Mutex
	sessions map[string]*runs.State
	runIDs   []string          // in order of creation
	home     map[string]string // the session of each run
	changed  chan struct{}
	seen     []string
}

func newFake() *fake {
	f := &fake{mux: http.NewServeMux(), sessions: map[string]*runs.State{}, home: map[string]string{}, changed: make(chan struct{})}
	f.mux.HandleFunc("POST /v1/runs", f.createRun)
	f.mux.HandleFunc("POST /v1/runs/claim", f.claim)
	f.mux.HandleFunc("GET /v1/runs/{run_id}", f.getRun)
	f.mux.HandleFunc("GET /v1/runs/{run_id}/resume", f.resume)
	f.mux.HandleFunc("POST /v1/runs/{run_id}/{verb}", f.work)
	f.mux.HandleFunc("POST /v1/runs/{run_id}/clarifications", f.askParent)
	f.mux.HandleFunc("POST /v1/runs/{run_id}/requests/{request_id}/withdraw", f.withdraw)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.seen = append(f.seen, r.Method+" "+r.URL.Path)
	before := f.before
	f.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	f.mux.ServeHTTP(w, r)
}

// calls counts the requests whose method and path have this suffix.
func (f *fake) calls(suffix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := 0
	for _, call := range f.seen {
		if strings.HasSuffix(call, suffix) {
			count++
		}
	}
	return count
}

// setBefore replaces the hook while requests are in flight.
func (f *fake) setBefore(before func(http.ResponseWriter, *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// do decides a command, and carries out the effects of its decision.
func (f *fake) do(command runs.Command) (runs.Reply, error) {
	reply, owed, err := f.decide(command)
	for _, effect := range owed {
		command, err := runs.CommandOf(effect)
		if err != nil {
			panic(err)
		}
		if _, err := f.do(command); err != nil {
			panic(err) // no test of this package has a parent that refuses
		}
	}
	return reply, err
}

func (f *fake) decide(command runs.Command) (runs.Reply, []*model.Effect, error) {
	if err := runs.Prepare(command, runs.NewID); err != nil {
		return runs.Reply{}, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	needs := command.Needs()
	sessionID := needs.SessionID
	if sessionID == "" {
		if sessionID = f.home[needs.RunID]; sessionID == "" {
			return runs.Reply{}, nil, refusal.UnknownRun(needs.RunID)
		}
	}
	state := f.sessions[sessionID]
	if state == nil {
		state = runs.NewState(sessionID)
		f.sessions[sessionID] = state
	}
	change, reply, err := runs.Decide(state, command, time.Now().UnixMilli())
	state.Apply(change)
	for _, run := range change.NewRuns {
		f.runIDs = append(f.runIDs, run.RunID)
		f.home[run.RunID] = sessionID
	}
	if !change.Empty() {
		close(f.changed)
		f.changed = make(chan struct{})
	}
	return reply, change.NewEffects, err
}

// until calls check after every change, and ten times a second, until it is done, the wait
// is over or the caller has disconnected.
func (f *fake) until(r *http.Request, wait time.Duration, check func() bool) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		if check() {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-deadline.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// record returns a run.
func (f *fake) record(runID string) *model.RunRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.sessions[f.home[runID]]
	if state == nil || state.Runs[runID] == nil {
		return nil
	}
	record := &model.RunRecord{Run: *state.Runs[runID]}
	for key, request := range state.Requests {
		if key.RunID == runID {
			record.Requests = append(record.Requests, *request)
		}
	}
	slices.SortFunc(record.Requests, func(a, b model.Request) int { return int(a.Number - b.Number) })
	return record
}

// forget deletes a run and its name as retention does. The session's idempotency records stay.
func (f *fake) forget(runID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.sessions[f.home[runID]]
	delete(state.Runs, runID)
	delete(state.Records, model.NameKey(runID))
	delete(f.home, runID)
	f.runIDs = slices.DeleteFunc(f.runIDs, func(id string) bool { return id == runID })
}

func answer(w http.ResponseWriter, status int, value any, err error) {
	var refused *refusal.Error
	w.Header().Set("Content-Type", "application/json")
	if errors.As(err, &refused) {
		status = http.StatusConflict
		switch refused.Code {
		case api.CodeRunNotFound:
			status = http.StatusNotFound
		case api.CodeInvalidRequest:
			status = http.StatusUnprocessableEntity
		}
		value = api.Problem{
			Status: status, Code: refused.Code, Domain: "fake", Detail: refused.Detail,
			Errors: refused.Faults, RecordedDecision: refused.Recorded,
		}
		w.Header().Set("Content-Type", "application/problem+json")
	}
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(err.Error())
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// decodeBody reads a body. If it is invalid, it answers and returns false.
func decodeBody(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.UnmarshalRead(r.Body, into)
	if err != nil {
		answer(w, 400, map[string]string{"code": "bad_request", "detail": err.Error()}, nil)
	}
	return err == nil
}

func orZero[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}

func (f *fake) createRun(w http.ResponseWriter, r *http.Request) {
	var body api.CreateRunBody
	if !decodeBody(w, r, &body) {
		return
	}
	reply, err := f.do(&runs.CreateRun{
		SessionID: orZero(body.SessionID), RunID: orZero(body.RunID), AgentID: orZero(body.AgentID), Input: body.Input,
		Claim: body.Claim, Suspend: body.Suspend, Key: r.Header.Get("Idempotency-Key"), Caller: "test",
	})
	switch {
	case err != nil:
		answer(w, 0, nil, err)
	case reply.Replayed:
		w.Header().Set("Idempotency-Replayed", "true")
		answer(w, 202, f.record(reply.ReplayRunID).View(), nil)
	case reply.Existing:
		answer(w, 200, reply.Run.View(), nil)
	case reply.Claim != nil:
		answer(w, 202, reply.Claim, nil)
	default:
		answer(w, 202, reply.Run.View(), nil)
	}
}

func (f *fake) claim(w http.ResponseWriter, r *http.Request) {
	var body api.ClaimRunsBody
	if !decodeBody(w, r, &body) {
		return
	}
	claims := []api.Claim{}
	f.until(r, time.Duration(body.WaitMs)*time.Millisecond, func() bool {
		f.mu.Lock()
		ids := slices.Clone(f.runIDs)
		f.mu.Unlock()
		for _, id := range ids {
			if int64(len(claims)) == max(orZero(body.MaxRuns), 1) {
				break
			}
			reply, err := f.do(&runs.ClaimRun{RunID: id, WorkerID: body.WorkerID, LeaseMs: orZero(body.LeaseMs)})
			if err == nil {
				claims = append(claims, *reply.Claim)
			}
		}
		return len(claims) > 0
	})
	answer(w, 200, api.ClaimsReply{Claims: claims}, nil)
}

func (f *fake) getRun(w http.ResponseWriter, r *http.Request) {
	runID := r.PathValue("run_id")
	if f.record(runID) == nil {
		answer(w, 0, nil, refusal.UnknownRun(runID))
		return
	}
	f.until(r, prefer(r), func() bool {
		status := f.record(runID).Run.Status
		return model.Terminal(status) || r.URL.Query().Get("until") != "terminal" && !model.Waiting(status)
	})
	answer(w, 200, f.record(runID).View(), nil)
}

func prefer(r *http.Request) time.Duration {
	seconds, _ := strconv.Atoi(strings.TrimPrefix(r.Header.Get("Prefer"), "wait="))
	return time.Duration(seconds) * time.Second
}

func (f *fake) resume(w http.ResponseWriter, r *http.Request) {
	runID := r.PathValue("run_id")
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	var settled api.Settled
	var lost error
	f.until(r, prefer(r), func() bool {
		record := f.record(runID)
		settled = api.Settled{Settled: []api.JSON{}, CancelRequested: record.Run.LeaseEnd == model.LeaseRevoked}
		if model.FenceText(record.Run.Fence) != r.URL.Query().Get("fence") || record.Run.LeaseEnd != "" && !settled.CancelRequested {
			lost = refusal.New(api.CodeLeaseLost, "fence is stale")
			return true
		}
		slices.SortFunc(record.Requests, func(a, b model.Request) int { return int(a.SettledNumber - b.SettledNumber) })
		last := after
		for i := range record.Requests {
			request := &record.Requests[i]
			switch {
			case request.Kind == model.KindClarification && !request.Clarification().Parked:
			case request.Open():
				settled.Open++
			case request.SettledNumber > after && request.Kind == model.KindApproval:
				settled.Settled = append(settled.Settled, document.Encode(request.SettledApproval(0)))
			case request.SettledNumber > after:
				settled.Settled = append(settled.Settled, document.Encode(request.SettledQuestion()))
			}
			last = max(last, request.SettledNumber)
		}
		settled.After = strconv.FormatInt(last, 10)
		return len(settled.Settled) > 0 || settled.Open == 0 || settled.CancelRequested
	})
	answer(w, 200, settled, lost)
}

// workBody has the members of all calls of workers and people.
type workBody struct {
	Fence     string     `json:"fence"`
	LeaseMs   int64      `json:"lease_ms"`
	Output    api.JSON   `json:"output"`
	Error     string     `json:"error"`
	Reason    string     `json:"reason"`
	Events    []api.JSON `json:"events"`
	LastError string     `json:"last_error"`
	Attempt   *int64     `json:"attempt"`
	DelayMs   int64      `json:"delay_ms"`
	api.Suspension
	Resolutions []api.ApprovalResolution    `json:"resolutions"`
	Resolution  *api.UserQuestionResolution `json:"resolution"`
}

func (f *fake) work(w http.ResponseWriter, r *http.Request) {
	var body workBody
	if !decodeBody(w, r, &body) {
		return
	}
	runID := r.PathValue("run_id")
	fence, _ := strconv.ParseInt(body.Fence, 10, 64)
	person := runs.Actor{Name: "ann", Via: api.ViaAPI}
	var command runs.Command
	switch r.PathValue("verb") {
	case "heartbeat":
		command = &runs.Heartbeat{RunID: runID, Fence: fence, LeaseMs: body.LeaseMs, Checkpoint: body.Checkpoint, SettledAfter: body.SettledAfter}
	case "suspend":
		command = &runs.Suspend{RunID: runID, Fence: fence, Suspension: body.Suspension}
	case "events":
		command = &runs.AppendEvents{RunID: runID, Fence: fence, Events: body.Events, IdempotencyKey: r.Header.Get("Idempotency-Key")}
	case "complete":
		command = &runs.Complete{RunID: runID, Fence: fence, Output: body.Output}
	case "fail":
		command = &runs.Fail{RunID: runID, Fence: fence, Error: body.Error}
	case "release":
		command = &runs.Release{RunID: runID, Fence: fence, Checkpoint: body.Checkpoint, LastError: body.LastError, Attempt: body.Attempt, DelayMs: body.DelayMs}
	case "cancel":
		command = &runs.CancelRun{RunID: runID, Reason: body.Reason, Actor: person}
	case "approvals":
		command = &runs.ResolveApprovals{RunID: runID, Resolutions: runs.DecisionsOf(body.Resolutions), Actor: person}
	case "questions":
		command = &runs.AnswerQuestion{RunID: runID, Resolution: runs.AnswerOf(*body.Resolution), Actor: person}
	default:
		http.NotFound(w, r)
		return
	}
	reply, err := f.do(command)
	switch {
	case err != nil:
		answer(w, 0, nil, err)
	case reply.Run != nil && r.PathValue("verb") == "suspend":
		answer(w, 200, api.SuspendReply{Run: reply.Run.View()}, nil)
	case reply.Run != nil:
		answer(w, 200, reply.Run.View(), nil)
	case reply.LastEventID != 0:
		answer(w, 202, api.AppendEventsReply{LastEventID: strconv.FormatInt(reply.LastEventID, 10)}, nil)
	default:
		answer(w, 200, api.HeartbeatReply{ExpiresAtMs: reply.LeaseExpiresAtMs, CancelRequested: reply.CancelRequested}, nil)
	}
}

func (f *fake) withdraw(w http.ResponseWriter, r *http.Request) {
	var body workBody
	if !decodeBody(w, r, &body) {
		return
	}
	fence, _ := strconv.ParseInt(body.Fence, 10, 64)
	reply, err := f.do(&runs.Withdraw{RunID: r.PathValue("run_id"), RequestID: r.PathValue("request_id"), Fence: fence, Reason: body.Reason})
	if err != nil {
		answer(w, 0, nil, err)
		return
	}
	answer(w, 200, reply.Run.View(), nil)
}
