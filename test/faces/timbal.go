package faces

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
)

// Timbal is the timbal dialect: pauses and resumes over a stream.
type Timbal struct{}

// RunIDHeader names the run of a stream.
const RunIDHeader = "X-Run-Id"

// Name implements Face.
func (Timbal) Name() string { return "timbal" }

// Traits implements Face.
func (Timbal) Traits() Traits {
	return Traits{Via: "timbal", InParts: true, Repeats: true, DenyReason: true, StopReason: true}
}

// Verbs implements Face.
func (Timbal) Verbs(kind Kind) []Verb {
	if kind == Approval {
		return []Verb{AllowOnce, AllowEdited, Deny, Stop}
	}
	return []Verb{Answer, Stop}
}

// Took implements Face. The id of a resume that was not recorded has a suffix.
func (Timbal) Took(reply Reply) bool {
	return reply.Status == http.StatusOK && !marked(reply.Header.Get(RunIDHeader))
}

func marked(runID string) bool {
	at := strings.LastIndexByte(runID, '~')
	return at >= 0 && strings.Contains(runID[at:], ".")
}

// Decide implements Face. The reply is the whole stream when nothing was decided, otherwise its
// first frame, because the stream then follows the run.
func (t Timbal) Decide(ctx context.Context, s *Service, about Prompt, what Decision, options ...Option) (Reply, error) {
	return t.Resume(ctx, s, about.RunID, t.Values(about, what), options...)
}

// Values returns the resume map of a decision.
func (Timbal) Values(about Prompt, what Decision) map[string]any {
	var value any
	switch what.Verb {
	case AllowOnce:
		value = true
	case AllowEdited:
		value = map[string]any{"approved": true, "override_input": what.Edit}
	case Deny:
		value = map[string]any{"approved": false, "reason": what.Reason}
	case Stop:
		value = map[string]any{"type": "timbal.cancel", "reason": what.Reason}
	case Answer:
		if about.Kind != Several {
			return map[string]any{about.Handle: what.Answers[0]}
		}
		values := map[string]any{}
		for i, id := range about.Kind.questions() {
			values[about.Handle+":"+id] = what.Answers[i]
		}
		return values
	case AllowSession, AllowAlways, Decline:
	}
	return map[string]any{about.Handle: value}
}

// Resume resumes a run with values by id; see Decide.
func (Timbal) Resume(ctx context.Context, s *Service, parentID string, values map[string]any, options ...Option) (Reply, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	response, err := s.open(ctx, http.MethodPost, "/stream", encode(map[string]any{"parent_id": parentID, "resume": values}), options...)
	if err != nil {
		return Reply{}, err
	}
	defer response.Body.Close()
	reply := Reply{Status: response.StatusCode, Header: response.Header}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		reply.Body += line
		switch {
		case errors.Is(err, io.EOF):
			return reply, nil
		case err != nil:
			return reply, err
		case line == "\n" && reply.Status == http.StatusOK && !marked(response.Header.Get(RunIDHeader)):
			return reply, nil
		}
	}
}

// Start starts an agent's run and closes its stream, which does not stop the run. The reply's
// header names the run.
func (t Timbal) Start(ctx context.Context, s *Service, agentID, body string) (Reply, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	response, err := s.open(ctx, http.MethodPost, "/agents/"+agentID+"/stream", body)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Status: response.StatusCode, Header: response.Header}, response.Body.Close()
}

// Open implements Face: a resume without answers shows what is open. Its stream is closed at once;
// the run's log says when there is nothing more to read.
func (t Timbal) Open(ctx context.Context, s *Service, about Prompt) ([]string, error) {
	_, events, err := t.Attach(ctx, s, about.RunID)
	var open []string
	for _, event := range events {
		id, _, _ := strings.Cut(event.ApprovalID+event.InteractionID, ":")
		if id != "" {
			open = append(open, id)
		}
	}
	return open, err
}

// TimbalEvent has the event members that tests use.
type TimbalEvent struct {
	Type          string `json:"type"`
	ApprovalID    string `json:"approval_id"`
	InteractionID string `json:"interaction_id"`
	Status        struct {
		Code   string `json:"code"`
		Reason string `json:"reason"`
	} `json:"status"`
}

// Attach resumes without answers and disconnects. It returns the resume's id and the events so far.
func (Timbal) Attach(ctx context.Context, s *Service, parentID string) (runID string, events []TimbalEvent, err error) {
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	response, err := s.open(leaving, http.MethodPost, "/stream", encode(map[string]any{"parent_id": parentID, "resume": map[string]any{}}))
	if err != nil {
		return "", nil, err
	}
	_ = response.Body.Close()
	runID = response.Header.Get(RunIDHeader)
	var list struct {
		Events []struct {
			Data TimbalEvent `json:"data"`
		} `json:"events"`
	}
	if err := s.read(ctx, "/runs/"+runID+"/events", &list); err != nil {
		return runID, nil, err
	}
	for _, one := range list.Events {
		events = append(events, one.Data)
	}
	return runID, events, nil
}

// TimbalFrames parses the events of a complete stream.
func TimbalFrames(body string) ([]TimbalEvent, error) {
	var events []TimbalEvent
	for line := range strings.SplitSeq(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event TimbalEvent
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}
