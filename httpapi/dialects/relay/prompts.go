package relay

import (
	"cmp"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// raiseApprovals adds a relay for each approval of a suspension, but not for those that
// standing rules settled when they were raised.
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
		s.add("relay", append(prompt.origin.members(),
			kit.MemberOf("kind", "permission"), kit.MemberOf("id", prompt.handle),
			kit.MemberOf("toolCallId", approval.ToolCallID), kit.MemberOf("tool", approval.ToolName),
			// The rule that "always" would write is shown before it is chosen.
			kit.MemberOf("params", approval.Input), kit.MemberOf("always", always)))
	}
	return nil
}

// settledByRules returns the ids of the requests that rules settled when they were
// raised. The next event of the log says so; it was committed together with this one.
func (s *chatStream) settledByRules(event, next *model.Event) (map[string]bool, error) {
	if next == nil {
		events, _, err := s.face.Store.EventsWithin(s.ctx, runs.EventQuery{SessionID: event.SessionID, Kept: true, After: event.EventID, Limit: 1})
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

// raiseQuestions adds a frame for each question. The protocol has none, so its clients
// skip them; they show why the run waits.
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

// settlePrompt adds what became of a prompt, with all that was recorded. The result of a
// call that may not run follows at once, whoever denied it and in whatever way.
func (s *chatStream) settlePrompt(event *model.Event, resolution *api.Resolution) {
	key := requestKey{event.RunID, resolution.RequestID}
	prompt := s.prompts[key]
	if prompt == nil {
		return
	}
	delete(s.prompts, key)
	name, members := "question_resolved", prompt.origin.members()
	if prompt.approval != nil {
		// Clients have an event of this name for their own decisions. It names its relay by
		// relayId and, by "approved": true, grants the tool from then on, which nothing here may.
		name, members = "relay_resolved", append(members, kit.MemberOf("relayId", prompt.handle))
	}
	if prompt.shown {
		s.add(name, append(members, kit.MemberOf("id", prompt.handle), kit.MemberOf("resolution", resolution)))
	}
	if prompt.approval == nil {
		return
	}
	call := requestKey{event.RunID, prompt.approval.ToolCallID}
	if resolution.Outcome == api.OutcomeAllowed {
		delete(s.deniedCalls, call)
		return
	}
	s.deniedCalls[call] = true
	s.endTextBlock(prompt.origin)
	s.add("tool_result", append(prompt.origin.members(),
		kit.MemberOf("id", prompt.approval.ToolCallID), kit.MemberOf("name", prompt.approval.ToolName),
		kit.MemberOf("output", deniedOutput{"denied", denialReason(resolution)})))
}

// deniedOutput is the result of a call that may not run, without a reason when nobody
// gave one.
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
