package relay

import (
	"cmp"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// raiseApprovals adds a relay for each approval of a suspension, except those that rules settled at
// once.
func (s *chatStream) raiseApprovals(event, next *model.Event, approvals []api.ApprovalRequest) error {
	ruled, err := s.settledByRules(event, next)
	if err != nil {
		return err
	}
	for i := range approvals {
		approval := &approvals[i]
		prompt := &openPrompt{
			origin: requestOrigin(event, approval.Metadata), handle: approval.Handle, approval: approval, shown: !ruled[approval.ID],
		}
		s.prompts[requestKey{event.RunID, approval.ID}] = prompt
		if !prompt.shown {
			continue
		}
		s.endTextBlock(prompt.origin)
		_, always := s.face.allowAlways(approval, event.SessionID, event.TimestampMs)
		s.add("relay", prompt.relay(always))
	}
	return nil
}

// relay returns the members of a relay. The person sees the rule of "always" before choosing it.
func (p *openPrompt) relay(always string) kit.Object {
	members := append(p.origin.members(),
		kit.MemberOf("kind", "permission"), kit.MemberOf("id", p.handle),
		kit.MemberOf("toolCallId", p.approval.ToolCallID), kit.MemberOf("tool", p.approval.ToolName),
		kit.MemberOf("params", p.approval.Input))
	if len(p.approval.Hints) > 0 {
		members = append(members, kit.MemberOf("hints", p.approval.Hints))
	}
	return append(members, kit.MemberOf("always", always))
}

// settledByRules returns the ids of requests that rules settled when they were raised. The next
// event of the log says so; both were committed together.
func (s *chatStream) settledByRules(event, next *model.Event) (map[string]bool, error) {
	if next == nil {
		events, _, err := s.face.Store.Reader(s.ctx).EventsWithin(s.ctx, reads.EventQuery{SessionID: event.SessionID, Kept: true, After: event.EventID, Limit: 1})
		if err != nil || len(events) == 0 {
			return nil, err
		}
		next = &events[0]
	}
	if next.Type != api.EventApprovalResolved || next.RunID != event.RunID {
		return nil, nil
	}
	change, err := kit.ChangeOf(next)
	ruled := map[string]bool{}
	for i := range change.Resolutions {
		if strings.HasPrefix(change.Resolutions[i].Via, api.ViaRule) {
			ruled[change.Resolutions[i].RequestID] = true
		}
	}
	return ruled, err
}

// raiseQuestions adds a frame for each question. The protocol has no questions, so its clients skip
// the frames, which explain why the run waits.
func (s *chatStream) raiseQuestions(event *model.Event, questions []api.UserQuestionRequest) {
	for i := range questions {
		question := &questions[i]
		prompt := &openPrompt{origin: requestOrigin(event, question.Metadata), handle: question.Handle, shown: true}
		s.prompts[requestKey{event.RunID, question.ID}] = prompt
		s.endTextBlock(prompt.origin)
		s.add("question", append(prompt.origin.members(),
			kit.MemberOf("id", prompt.handle), kit.MemberOf("request", question)))
	}
}

// settlePrompt adds the outcome of a prompt with everything that was recorded. The result of a
// denied call follows at once, however it was denied.
func (s *chatStream) settlePrompt(runID string, resolution *api.Resolution) {
	key := requestKey{runID, resolution.RequestID}
	prompt := s.prompts[key]
	if prompt == nil {
		return
	}
	delete(s.prompts, key)
	name, members := "question_resolved", prompt.origin.members()
	if prompt.approval != nil {
		// Clients use an event of this name for their own decisions. It names its relay by relayId,
		// and "approved": true would grant the tool from then on.
		name, members = "relay_resolved", append(members, kit.MemberOf("relayId", prompt.handle))
	}
	if prompt.shown {
		s.add(name, append(members, kit.MemberOf("id", prompt.handle), kit.MemberOf("resolution", resolution)))
	}
	if prompt.approval == nil {
		return
	}
	call := requestKey{runID, prompt.approval.ToolCallID}
	if resolution.Outcome == api.OutcomeAllowed {
		delete(s.deniedCalls, call)
		return
	}
	if !prompt.ofChild { // a child's worker has another stream
		s.deniedCalls[call] = true
	}
	s.endTextBlock(prompt.origin)
	s.add("tool_result", append(prompt.origin.members(),
		kit.MemberOf("id", prompt.approval.ToolCallID), kit.MemberOf("name", prompt.approval.ToolName),
		kit.MemberOf("output", deniedOutput{"denied", denialReason(resolution)})))
}

// deniedOutput is the result of a denied call, with the reason if one was given.
type deniedOutput struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func denialReason(resolution *api.Resolution) string {
	if resolution.Outcome == api.OutcomeExpired {
		return string(api.OutcomeExpired)
	}
	reason := cmp.Or(resolution.Reason, resolution.Justification)
	if reason == "" && resolution.Outcome == api.OutcomeCancelled {
		return string(api.OutcomeCancelled)
	}
	return reason
}
