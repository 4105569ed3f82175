package codex

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// scopeNote is recorded as the justification of a decision on which the scope session has no
// effect, so that the scope can be shown again.
const scopeNote = "scope: " + scopeSession

// settled is the outcome of a request in this dialect.
type settled struct {
	Status   string `json:"status"`
	Decision string `json:"decision,omitempty"`
	// Scope is set for approvals only.
	Scope string `json:"scope,omitempty"`
}

// settledAs converts a resolution made through any API. A request without a decision (its deadline
// passed, or its run or session ended) is expired.
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
		// A cancel also settles the run's other open requests, without a payload.
		if resolution.Via == Via && resolution.RuntimePayload == nil {
			return settled{Status: statusExpired}
		}
		result.Decision = cancel
	case api.OutcomeExpired:
		return settled{Status: statusExpired}
	}
	return result
}

// settledApproval is settledAs with the scope. A decision made by a rule, or remembered as one,
// lasts beyond its turn.
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

// runtimeDecision is the runtime's payload for an approval (docs/spec/codex.md#runtime-payload).
type runtimeDecision struct {
	Decision string `json:"decision"`
}

// decisionPayload returns a decision in the method's protocol.
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
