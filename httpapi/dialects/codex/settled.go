package codex

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// scopeNote is recorded as the justification of a decision on which the scope session has
// no effect, so that the scope can be shown again.
const scopeNote = "scope: " + scopeSession

// settled is what became of a request in the words of this dialect.
type settled struct {
	Status   string `json:"status"`
	Decision string `json:"decision,omitempty"`
	// Scope is given for approvals only.
	Scope string `json:"scope,omitempty"`
}

// settledAs translates what was recorded, on any face. What nobody decided, because its
// deadline passed or its run or session ended, has expired.
func settledAs(resolution *api.Resolution) settled {
	switch resolution.Via {
	case api.ViaClock, api.ViaWorker, api.ViaRunEnded, api.ViaCancel, api.ViaInterrupt, api.ViaEnd:
		return settled{Status: statusExpired}
	}
	result := settled{Status: statusResolved}
	switch resolution.Outcome {
	case api.OutcomeAllowed, api.OutcomeAnswered:
		result.Decision = accept
	case api.OutcomeDenied, api.OutcomeDeclined:
		result.Decision = decline
	case api.OutcomeCancelled:
		// A cancel takes along whatever else is open on its run, without a payload.
		if resolution.Via == Via && resolution.RuntimePayload == nil {
			return settled{Status: statusExpired}
		}
		result.Decision = cancel
	case api.OutcomeExpired:
		return settled{Status: statusExpired}
	}
	return result
}

// settledApproval is settledAs with the scope. A decision that a rule made, or with which
// one was written, holds beyond its turn.
func settledApproval(resolution *api.Resolution) settled {
	result := settledAs(resolution)
	if result.Status == statusExpired {
		return result
	}
	result.Scope = scopeTurn
	note := cmp.Or(resolution.Justification, resolution.Reason)
	if resolution.Rule != nil || resolution.Via == Via && note == scopeNote {
		result.Scope = scopeSession
	}
	return result
}

// runtimeDecision is what the runtime is handed about an approval
// (docs/spec/codex.md#runtime-payload).
type runtimeDecision struct {
	Decision string `json:"decision"`
}

// decisionPayload words a decision for the runtime, by the protocol of the method.
func decisionPayload(method, decision, scope string) api.JSON {
	words := map[string]string{accept: "accept", decline: "decline", cancel: "cancel"}
	forSession := "acceptForSession"
	if legacy(method) {
		words = map[string]string{accept: "approved", decline: "denied", cancel: "abort"}
		forSession = "approved_for_session"
	}
	if decision == accept && scope == scopeSession {
		return kit.Encode(runtimeDecision{forSession})
	}
	return kit.Encode(runtimeDecision{words[decision]})
}
