package faces

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Scene is a chat with the worker of its run. Every face shows the prompts that the worker raises.
type Scene struct {
	*Service
	Chat             *Chat
	SessionID, RunID string
	// Fence is the fence of the worker's newest lease.
	Fence string
}

// Claim is a worker's claim.
type Claim struct {
	Lease struct {
		Fence string `json:"fence"`
	} `json:"lease"`
	Resume *Resume `json:"resume"`
}

// Resume is the decisions that a run continues with.
type Resume struct {
	Approvals     []Settled   `json:"approvals"`
	Questions     []Settled   `json:"questions"`
	Clarification *Resolution `json:"clarification"`
}

// Settled is a request with its resolution.
type Settled struct {
	Request struct {
		ID     string `json:"id"`
		Handle string `json:"handle"`
	} `json:"request"`
	Resolution Resolution `json:"resolution"`
}

// Resolution is the recorded resolution of a request.
type Resolution struct {
	RequestID    string           `json:"request_id"`
	Outcome      string           `json:"outcome"`
	Behavior     string           `json:"behavior"`
	UpdatedInput jsontext.Value   `json:"updated_input"`
	Answers      []RecordedAnswer `json:"answers"`
	Declined     bool             `json:"declined"`
	Value        jsontext.Value   `json:"value"`
	Summary      string           `json:"summary"`
	// Justification is null when there is none.
	Justification  *string        `json:"justification"`
	Reason         string         `json:"reason"`
	ResolvedBy     string         `json:"resolved_by"`
	ResolvedAtMs   int64          `json:"resolved_at_ms"`
	Via            string         `json:"via"`
	Rule           *AppliedRule   `json:"rule"`
	RuntimePayload jsontext.Value `json:"runtime_payload"`
}

// AppliedRule is the rule that made a decision, or that was created with it.
type AppliedRule struct {
	RuleID string `json:"rule_id"`
	Text   string `json:"text"`
}

// RecordedAnswer is the answer to one question.
type RecordedAnswer struct {
	QuestionID        string   `json:"question_id"`
	SelectedOptionIDs []string `json:"selected_option_ids"`
	FreeformAnswer    string   `json:"freeform_answer"`
}

// Begin starts a chat and claims its run.
func (s *Service) Begin(ctx context.Context) (*Scene, error) {
	chat, err := s.StartChat(ctx)
	if err != nil {
		return nil, err
	}
	scene := &Scene{Service: s, Chat: chat, SessionID: chat.SessionID}
	var list []struct {
		RunID string `json:"run_id"`
	}
	if err := s.read(ctx, "/v1/runs?session_id="+chat.SessionID, &list); err != nil {
		chat.Close()
		return nil, err
	}
	if len(list) != 1 {
		chat.Close()
		return nil, fmt.Errorf("a chat has %d runs", len(list))
	}
	scene.RunID = list[0].RunID
	_, err = scene.Take(ctx)
	return scene, err
}

// Take claims the run, as its next worker.
func (s *Scene) Take(ctx context.Context) (*Claim, error) {
	claim, err := s.TakeRun(ctx, s.RunID)
	if err == nil {
		s.Fence = claim.Lease.Fence
	}
	return claim, err
}

// TakeRun claims a run by id.
func (s *Service) TakeRun(ctx context.Context, runID string) (*Claim, error) {
	claim := &Claim{}
	err := s.write(ctx, "/v1/runs/"+runID+"/claim", `{"worker_id":"worker","lease_ms":600000}`, claim)
	return claim, err
}

// Complete completes the run.
func (s *Scene) Complete(ctx context.Context) error {
	return s.write(ctx, "/v1/runs/"+s.RunID+"/complete", encode(map[string]any{"fence": s.Fence, "output": "done"}), &struct{}{})
}

// Asked is a request to raise.
type Asked struct {
	Kind Kind
	ID   string
	// With holds additional members, such as a deadline or pattern keys.
	With map[string]any
}

// input returns a unique input for an approval.
func (a Asked) input(sessionID string) map[string]any {
	return map[string]any{"command": "deploy " + sessionID + " " + a.ID, "attempt": 1}
}

func (a Asked) document(sessionID string) map[string]any {
	request := map[string]any{"id": a.ID, "tool_call_id": "call-" + a.ID}
	way := map[string]any{"id": "way", "header": "Way", "question": "Which way?", "multi_select": false, "allow_freeform": true, "options": []any{
		map[string]any{"id": "left", "label": "Left"}, map[string]any{"id": "right", "label": "Right"},
	}}
	switch a.Kind {
	case Approval:
		request["tool_name"], request["input"], request["reason"] = "bash", a.input(sessionID), "it changes production"
	case Choice, Clarification:
		request["questions"] = []any{way}
	case Several:
		request["questions"] = []any{way, map[string]any{"id": "notes", "question": "Anything else?", "options": []any{}}}
	case Typed:
		request["kind"], request["payload"] = "pick", map[string]any{"question": "Which database?"}
		request["response_schema"] = map[string]any{"type": "string", "enum": []string{"postgres", "mysql"}}
	}
	for name, value := range a.With {
		request[name] = value
	}
	return request
}

// Suspension returns the body of a suspend call.
func (s *Scene) Suspension(hold bool, asked ...Asked) map[string]any {
	body := map[string]any{"fence": s.Fence, "hold": hold}
	var approvals, questions []any
	for _, one := range asked {
		if one.Kind == Approval {
			approvals = append(approvals, one.document(s.SessionID))
		} else {
			questions = append(questions, one.document(s.SessionID))
		}
	}
	if approvals != nil {
		body["approvals"] = approvals
	}
	if questions != nil {
		body["questions"] = questions
	}
	return body
}

// Raise suspends the run and returns the prompts in the same order. The Resume is set when rules
// settled all of them.
func (s *Scene) Raise(ctx context.Context, hold bool, asked ...Asked) ([]Prompt, *Resume, error) {
	var reply struct {
		Run    runView `json:"run"`
		Resume *Resume `json:"resume"`
	}
	if err := s.write(ctx, "/v1/runs/"+s.RunID+"/suspend", encode(s.Suspension(hold, asked...)), &reply); err != nil {
		return nil, nil, err
	}
	known := map[string]string{}
	for _, request := range append(reply.Run.PendingApprovals, reply.Run.PendingQuestions...) {
		known[request.ID] = request.Handle
	}
	if reply.Run.Resume != nil {
		for _, settled := range append(reply.Run.Resume.Approvals, reply.Run.Resume.Questions...) {
			known[settled.Request.ID] = settled.Request.Handle
		}
	}
	for _, one := range asked {
		if known[one.ID] != "" {
			continue
		}
		// Rules settled some of them, and the view shows only open ones.
		if err := s.readHandles(ctx, known); err != nil {
			return nil, nil, err
		}
	}
	prompts := make([]Prompt, len(asked))
	for i, one := range asked {
		prompts[i] = Prompt{
			Kind: one.Kind, SessionID: s.SessionID, RunID: s.RunID, RequestID: one.ID, Handle: known[one.ID],
			Input: encode(one.input(s.SessionID)),
		}
	}
	return prompts, reply.Resume, nil
}

// readHandles adds the handles of all requests in the run's log.
func (s *Scene) readHandles(ctx context.Context, known map[string]string) error {
	var log []struct {
		Event struct {
			Requests []request `json:"requests"`
		} `json:"event"`
	}
	if err := s.read(ctx, "/v1/runs/"+s.RunID+"/events?limit=1000", &log); err != nil {
		return err
	}
	for _, entry := range log {
		for _, one := range entry.Event.Requests {
			known[one.ID] = one.Handle
		}
	}
	return nil
}

type runView struct {
	RunID            string    `json:"run_id"`
	SessionID        string    `json:"session_id"`
	Status           string    `json:"status"`
	PendingApprovals []request `json:"pending_approvals"`
	PendingQuestions []request `json:"pending_questions"`
	Resume           *Resume   `json:"resume"`
}

type request struct {
	ID     string `json:"id"`
	Handle string `json:"handle"`
}

// Child is a run in a session below the scene's, which asks its parent.
type Child struct {
	*Service
	RunID string
}

// Ask creates a child that waits for a clarification by the scene's session.
func (s *Scene) Ask(ctx context.Context, asked Asked) (Prompt, *Child, error) {
	child := &Child{Service: s.Service}
	var session struct {
		SessionID string `json:"session_id"`
	}
	if err := s.write(ctx, "/v1/sessions", encode(map[string]any{"parent_session_id": s.SessionID}), &session); err != nil {
		return Prompt{}, nil, err
	}
	var claim struct {
		Claim
		Run runView `json:"run"`
	}
	if err := s.write(ctx, "/v1/runs", encode(map[string]any{
		"session_id": session.SessionID, "input": "help", "claim": map[string]any{"worker_id": "child", "lease_ms": 600_000},
	}), &claim); err != nil {
		return Prompt{}, nil, err
	}
	child.RunID = claim.Run.RunID
	var reply struct {
		Clarification runView `json:"clarification"`
	}
	err := s.write(ctx, "/v1/runs/"+child.RunID+"/clarifications", encode(map[string]any{
		"fence": claim.Lease.Fence, "park": true, "request": asked.document(s.SessionID),
	}), &reply)
	if err != nil {
		return Prompt{}, nil, err
	}
	if err != nil {
		return Prompt{}, nil, err
	}
	// An effect delivers the question to its parent.
	var shown handled
	asks, err := s.Chat.Await(ctx, func(f Frame) bool {
		var asks request
		if f.Event != "question" || json.Unmarshal(f.Request, &asks) != nil || asks.ID != asked.ID {
			return false
		}
		shown.Handle = asks.Handle
		return true
	})
	return Prompt{
		Kind: Clarification, SessionID: s.SessionID, RunID: reply.Clarification.RunID, RequestID: asked.ID,
		Handle: shown.Handle, Input: string(asks.Request),
	}, child, err
}

// Take waits for the answer and claims the child's run.
func (c *Child) Take(ctx context.Context) (*Claim, error) {
	var view runView
	reply, err := c.Call(ctx, http.MethodGet, "/v1/runs/"+c.RunID, "", func(r *http.Request) { r.Header.Set("Prefer", "wait=30") })
	if err == nil {
		err = reply.Into(&view)
	}
	if err != nil {
		return nil, err
	}
	return c.TakeRun(ctx, c.RunID)
}

// Recorded returns a request's resolutions in a run's log, in order.
func (s *Service) Recorded(ctx context.Context, runID, requestID string) ([]Resolution, error) {
	var log []struct {
		Event struct {
			Resolutions []Resolution `json:"resolutions"`
			Resolution  *Resolution  `json:"resolution"`
		} `json:"event"`
	}
	if err := s.read(ctx, "/v1/runs/"+runID+"/events?limit=1000", &log); err != nil {
		return nil, err
	}
	var found []Resolution
	for _, entry := range log {
		all := entry.Event.Resolutions
		if entry.Event.Resolution != nil {
			all = append(all, *entry.Event.Resolution)
		}
		for _, one := range all {
			if one.RequestID == requestID {
				found = append(found, one)
			}
		}
	}
	return found, nil
}
