package relay

import (
	"log/slog"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// lookBelow adds the relays of the sessions below the chat's, and what became of them. A failed read
// ends nothing: a client cannot come back to its stream.
func (s *chatStream) lookBelow() {
	raised, settled, err := s.below.Changes(s.ctx)
	if err != nil && s.ctx.Err() == nil {
		s.face.Logger.LogAttrs(s.ctx, slog.LevelWarn, "read relays of child sessions",
			slog.String("session_id", s.chat.sessionID), slog.String("error", err.Error()))
	}
	for _, request := range raised {
		s.raiseOfChild(request)
	}
	for _, request := range settled {
		s.settlePrompt(request.RunID, new(request.Recorded()))
	}
}

// raiseOfChild adds the relay of a session below the chat's, marked with the chat's run as the parent
// and the session that asks.
func (s *chatStream) raiseOfChild(pending *model.PendingRequest) {
	request := &pending.Request
	approval := request.Approval()
	prompt := &openPrompt{
		origin: origin{runID: request.RunID, agentID: pending.AgentID, parentID: s.chat.state.RunID},
		handle: request.Handle, approval: &approval, shown: true, ofChild: true,
	}
	prompt.origin.override(kit.ObjectOf(approval.Metadata))
	s.prompts[requestKey{request.RunID, request.RequestID}] = prompt
	s.endTextBlock(prompt.origin)
	always, scope := "", reads.ScopeOf(auth.From(s.ctx))
	// An answer writes no rule for a session of which the caller reaches only runs. After a failed read the answer is refused.
	if reached, err := scope.ReachesSession(s.ctx, request.SessionID, s.face.Store.Reader(s.ctx).SessionHead); reached || err != nil {
		_, always = s.face.allowAlways(&approval, request.SessionID, request.CreatedAtMs)
	}
	s.add("relay", append(prompt.relay(always), kit.MemberOf("requestedBy", request.SessionID)))
}
