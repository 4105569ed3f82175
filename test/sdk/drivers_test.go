//go:build unix && agents

package sdk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// lineDriver is a process that is given a step a line and returns an outcome a line.
type lineDriver struct {
	mu      sync.Mutex
	input   io.Writer
	last    int
	waiting map[int]chan outcome
	ended   chan struct{}
}

// newLineDriver starts a driver in a directory.
func newLineDriver(t *testing.T, directory, program string, arguments ...string) driver {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir = directory
	var said bytes.Buffer
	command.Stderr = &said
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	d := &lineDriver{input: input, waiting: map[int]chan outcome{}, ended: make(chan struct{})}
	go d.read(output)
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-d.ended
		_ = command.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s said: %s", program, &said)
		}
	})
	return d
}

func (d *lineDriver) read(output io.Reader) {
	defer close(d.ended)
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var reply struct {
			ID int `json:"id"`
			outcome
		}
		if err := json.Unmarshal(lines.Bytes(), &reply); err != nil {
			reply.Failed = err.Error() + ": " + lines.Text()
		}
		d.mu.Lock()
		done := d.waiting[reply.ID]
		delete(d.waiting, reply.ID)
		d.mu.Unlock()
		if done != nil {
			done <- reply.outcome
		}
	}
}

func (d *lineDriver) do(s step) outcome {
	done := make(chan outcome, 1)
	d.mu.Lock()
	d.last++
	d.waiting[d.last] = done
	line := maps.Clone(s)
	line["id"] = d.last
	text, err := json.Marshal(line)
	if err == nil {
		_, err = d.input.Write(append(text, '\n'))
	}
	d.mu.Unlock()
	if err != nil {
		return outcome{Failed: err.Error()}
	}
	select {
	case o := <-done:
		return o
	case <-d.ended:
		return outcome{Failed: "the driver has ended"}
	}
}

// goDriver does the steps with the client for Go, in this process.
type goDriver struct {
	*testing.T
	url     string
	service *client.Client

	mu      sync.Mutex
	results []any
	reports []any
	workers map[string]func()
	streams map[string]*goStream
}

type goStream struct {
	next  func() (client.StreamEvent, error, bool)
	types []any
}

func newGoDriver(t *testing.T, url string) driver {
	t.Helper()
	d := &goDriver{T: t, url: url, workers: map[string]func(){}, streams: map[string]*goStream{}}
	d.service = d.client("")
	return d
}

func (d *goDriver) client(actor string) *client.Client {
	options := []client.Option{client.WithRetry(client.RetryPolicy{MaxAttempts: 100, BaseDelay: 20 * time.Millisecond, MaxDelay: 200 * time.Millisecond})}
	if actor != "" {
		options = append(options, client.WithActor(actor))
	}
	c, err := client.New(d.url, options...)
	require.NoError(d, err)
	d.Cleanup(c.Close)
	return c
}

// kinds names the sentinels of package client as the other libraries name kinds of errors.
var kinds = map[string]error{
	"not_found": client.ErrNotFound, "conflict": client.ErrConflict, "invalid": client.ErrInvalid,
	"already_decided": client.ErrAlreadyDecided, "not_waiting": client.ErrNotWaiting, "lease_lost": client.ErrLeaseLost,
	"approval_changed": client.ErrApprovalChanged, "idempotency_conflict": client.ErrIdempotencyConflict,
}

// givenStep is a step as the Go driver reads it.
type givenStep struct {
	Run     string `json:"run"`
	Session string `json:"session"`
	Worker  string `json:"worker"`
	Agent   string `json:"agent"`
	Fence   string `json:"fence"`
	Key     string `json:"key"`
	As      string `json:"as"`
	Handler string `json:"handler"`
	Stream  string `json:"stream"`
	After   string `json:"after"`
	Request string `json:"request"`
	Reason  string `json:"reason"`
	Body    struct {
		RunID     string          `json:"run_id"`
		SessionID string          `json:"session_id"`
		AgentID   string          `json:"agent_id"`
		Input     api.JSON        `json:"input"`
		Suspend   *api.Suspension `json:"suspend"`
	} `json:"body"`
	Output       api.JSON                 `json:"output"`
	Events       []api.JSON               `json:"events"`
	Shown        api.PendingApprovalView  `json:"shown"`
	UpdatedInput api.JSON                 `json:"updated_input"`
	Answers      []api.UserQuestionAnswer `json:"answers"`
	Value        api.JSON                 `json:"value"`
	Call         string                   `json:"call"`
	Arguments    arguments                `json:"arguments"`
}

func (d *goDriver) do(s step) outcome {
	var given givenStep
	text, err := json.Marshal(s)
	require.NoError(d, err)
	if err := json.Unmarshal(text, &given); err != nil {
		return outcome{Failed: err.Error()}
	}
	ctx := d.Context()
	decide := func(behavior api.Behavior) (any, error) {
		resolution := api.ApprovalResolution{
			RequestID: given.Shown.Request.ID, Behavior: behavior, UpdatedInput: given.UpdatedInput, Reason: given.Reason,
			InputDigest: given.Shown.Request.InputDigest, Handle: given.Shown.Request.Handle,
		}
		return decided(d.client(given.As).ResolveRunApprovals(ctx, given.Shown.RunID, client.ResolveApprovalsParams{
			Resolutions: []api.ApprovalResolution{resolution}, IdempotencyKey: given.Key,
		}))
	}
	switch s.text("do") {
	case "create_run":
		created, err := d.service.CreateRun(ctx, client.CreateRunParams{
			RunID: given.Body.RunID, SessionID: given.Body.SessionID, AgentID: given.Body.AgentID, Input: given.Body.Input,
			Suspend: given.Body.Suspend, IdempotencyKey: given.Key,
		})
		if err != nil {
			return of(nil, err)
		}
		return of(map[string]any{"run": created.RunView, "replayed": created.Replayed, "existing": created.Existing}, nil)
	case "wait_run":
		return of(d.service.WaitRun(ctx, given.Run, client.UntilTerminal))
	case "get_run":
		return of(d.service.GetRun(ctx, given.Run))
	case "appended":
		entries, err := d.service.ListRunEvents(ctx, given.Run, client.EventListParams{})
		events := []any{}
		for _, entry := range entries {
			var event map[string]any
			require.NoError(d, json.Unmarshal(entry.Event, &event))
			if event["type"] == s["type"] {
				events = append(events, event)
			}
		}
		return of(map[string]any{"events": events}, err)
	case "retry_run":
		return of(d.service.RetryRun(ctx, given.Run))
	case "cancel_run":
		return of(d.service.CancelRun(ctx, given.Run, ""))
	case "claim":
		return of(d.service.ClaimRun(ctx, given.Run, api.ClaimOptions{WorkerID: given.Worker}))
	case "release":
		return of(d.service.ReleaseRun(ctx, given.Run, given.Fence, nil))
	case "complete":
		return of(d.service.CompleteRun(ctx, given.Run, given.Fence, given.Output))
	case "fail":
		return of(d.service.FailRun(ctx, given.Run, given.Fence, given.Reason))
	case "emit":
		return of(d.service.AppendEvents(ctx, given.Run, given.Fence, given.Events))
	case "approve":
		return of(decide(api.BehaviorAllow))
	case "deny":
		return of(decide(api.BehaviorDeny))
	case "answer":
		return of(decided(d.client(given.As).AnswerRunQuestion(ctx, given.Shown.RunID, client.AnswerQuestionParams{
			Resolution: api.UserQuestionResolution{RequestID: given.Shown.Request.ID, Answers: given.Answers, Value: given.Value},
		})))
	case "call":
		return plainCall(ctx, d.client(given.As), given.Call, given.Arguments)
	case "list_runs":
		ids := []string{}
		for run, err := range d.service.AllRuns(ctx, client.RunListParams{SessionID: given.Session, PageParams: client.PageParams{Limit: 1}}) {
			if err != nil {
				return of(nil, err)
			}
			ids = append(ids, run.RunID)
		}
		return of(map[string]any{"run_ids": ids}, nil)
	case "shown":
		return of(d.shown(ctx, given.Run, given.Request))
	case "worker":
		d.work(given.Worker, given.Agent, given.Handler)
		return of(map[string]any{}, nil)
	case "stop_worker":
		d.workers[given.Worker]()
		return of(map[string]any{}, nil)
	case "handled":
		d.mu.Lock()
		defer d.mu.Unlock()
		done := append([]any{}, d.results...)
		d.results = nil
		return of(map[string]any{"results": done}, nil)
	case "reported":
		d.mu.Lock()
		defer d.mu.Unlock()
		done := append([]any{}, d.reports...)
		d.reports = nil
		return of(map[string]any{"reports": done}, nil)
	case "open_stream":
		next, stop := iter.Pull2(d.service.StreamRun(ctx, given.Run, given.After))
		d.Cleanup(stop)
		first, err, _ := next()
		d.streams[given.Stream] = &goStream{next: next, types: []any{typeOf(first)}}
		return of(map[string]any{"type": typeOf(first), "id": first.ID}, err)
	case "read_stream":
		stream := d.streams[given.Stream]
		for item, err, more := stream.next(); more; item, err, more = stream.next() {
			if err != nil {
				return of(nil, err)
			}
			stream.types = append(stream.types, typeOf(item))
		}
		return of(map[string]any{"types": stream.types}, nil)
	}
	return outcome{Failed: "no such step"}
}

// decided is a run after a decision in the form of the other drivers.
func decided(run *client.RunResult, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return map[string]any{"run": run.RunView, "replayed": run.Replayed}, nil
}

// of is what came of a call, as it would have come from another process.
func of(result any, err error) outcome {
	var o outcome
	if err != nil {
		named := []string{}
		for name, sentinel := range kinds {
			if errors.Is(err, sentinel) {
				named = append(named, name)
			}
		}
		refusal := map[string]any{"kinds": named}
		if refused, ok := errors.AsType[*client.Error](err); ok {
			refusal["status"], refusal["code"], refusal["pending_approval"] = refused.Status, refused.Code, refused.Pending
			if len(refused.Faults) > 0 {
				refusal["pointer"] = refused.Faults[0].Pointer
			}
		} else if len(named) == 0 {
			return outcome{Failed: err.Error()}
		}
		o.Refused = refusal
	} else {
		o.Result = result
	}
	text, err := json.Marshal(o)
	if err == nil {
		o = outcome{}
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		o.Failed = err.Error()
	}
	return o
}

func (d *goDriver) shown(ctx context.Context, runID, requestID string) (any, error) {
	for {
		for open, err := range d.service.AllApprovals(ctx, client.PendingListParams{}) {
			if err != nil {
				return nil, err
			}
			if open.RunID == runID && (requestID == "" || open.Request.ID == requestID) {
				return open, nil
			}
		}
		for open, err := range d.service.AllQuestions(ctx, client.PendingListParams{}) {
			if err != nil {
				return nil, err
			}
			if open.RunID == runID && (requestID == "" || open.Request.ID == requestID) {
				return open, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func typeOf(item client.StreamEvent) string {
	switch {
	case item.Gap != "":
		return "gap"
	case item.Run != nil:
		return "snapshot"
	case item.Event == nil:
		return ""
	}
	var event struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(item.Event.Event, &event) // every event is an object with a type
	return event.Type
}
