package runs

import "strings"

// EffectKind says what an effect does.
type EffectKind string

// The kinds of effects.
const (
	// EffectOpenClarification makes the clarification's run in the parent's session.
	EffectOpenClarification EffectKind = "open_clarification"
	// EffectDeliverAnswer brings the answer to the child.
	EffectDeliverAnswer EffectKind = "deliver_answer"
	// EffectReviewApproval shows an approval to whoever reviews it (codex.md 3.3.5).
	EffectReviewApproval EffectKind = "review_approval"
)

// EffectState says how far an effect is.
type EffectState string

// The states of effects.
const (
	EffectPending EffectState = "pending"
	EffectDone    EffectState = "done"
	// EffectFailed: given up after MaxEffectAttempts, or because it can never
	// succeed. An operator may have it tried again.
	EffectFailed EffectState = "failed"
)

// Known reports whether the text is the name of a state.
func KnownEffectState(s EffectState) bool {
	return s == EffectPending || s == EffectDone || s == EffectFailed
}

// Leases and attempts of effects.
const (
	// EffectLeaseMs is how long the one who carries an effect out has it for himself.
	EffectLeaseMs = 5_000
	// MaxEffectAttempts is how often an effect is tried before it is given up.
	MaxEffectAttempts = 20
	// The pause between two attempts doubles from the first one on, up to the longest.
	firstEffectPauseMs   = int64(1_000)
	longestEffectPauseMs = int64(300_000)
)

// Effect is what a committed decision still owes (design.md §2). It is written with
// the decision and carried out afterwards, at least once, by whichever replica is
// alive; what it does is idempotent, so that it happens once.
type Effect struct {
	// SessionID is the session of the decision, under whose lock the effect changes.
	SessionID string
	// EffectID is derived from the kind and from what was decided; it is unique
	// everywhere.
	EffectID string
	// RunID is the run of the decision.
	RunID string
	Kind  EffectKind
	State EffectState
	// TargetSessionID is the session in which the effect takes place.
	TargetSessionID string
	Payload         JSON
	CreatedAtMs     int64
	// DueAtMs is when it may be tried (again): it holds both the lease of the one who
	// is at it and the pause after a failure. 0 when nothing is owed any more.
	DueAtMs int64
	// Attempts counts how often it was begun, which is also the fence of the one who
	// began it last.
	Attempts     int64
	LastError    string // of the last attempt that failed; empty once it is done
	FinishedAtMs int64  // when it was done or given up; 0 before
}

func effectID(kind EffectKind, id string) string { return string(kind) + ":" + id }

// EffectKindOf returns the kind that an effect's id is derived from.
func EffectKindOf(effectID string) EffectKind {
	kind, _, _ := strings.Cut(effectID, ":")
	return EffectKind(kind)
}

// openClarificationPayload is what EffectOpenClarification needs.
type openClarificationPayload struct {
	RunID     string              `json:"run_id"`
	Request   UserQuestionRequest `json:"request"`
	Requester Requester           `json:"requester"`
}

// deliverAnswerPayload is what EffectDeliverAnswer needs.
type deliverAnswerPayload struct {
	RunID      string `json:"run_id"`
	RequestID  string `json:"request_id"`
	Message    JSON   `json:"message"`
	Resolution JSON   `json:"resolution"`
}

// CarriedOut says where effects of a kind are carried out.
type CarriedOut int

// Where effects are carried out.
const (
	// CarriedOutNowhere: this program does not know the kind.
	CarriedOutNowhere CarriedOut = iota
	// CarriedOutInside: by the effect's Command, in its target session.
	CarriedOutInside
	// CarriedOutOutside: by whoever is shown the effect's Payload. It has no command.
	CarriedOutOutside
)

// CarriedOut says where effects of the kind are carried out.
func CarriedOutWhere(k EffectKind) CarriedOut {
	switch k {
	case EffectOpenClarification, EffectDeliverAnswer:
		return CarriedOutInside
	case EffectReviewApproval:
		return CarriedOutOutside
	}
	return CarriedOutNowhere
}

// Command returns the command that carries the effect out in its target session. It
// is nil unless the kind is carried out inside.
func (e *Effect) Command() Command {
	switch e.Kind {
	case EffectOpenClarification:
		var payload openClarificationPayload
		decodeStored(e.Payload, &payload)
		return &OpenClarification{
			SessionID: e.TargetSessionID, RunID: payload.RunID,
			Request: payload.Request, Requester: payload.Requester,
		}
	case EffectDeliverAnswer:
		var payload deliverAnswerPayload
		decodeStored(e.Payload, &payload)
		return &DeliverAnswer{
			SessionID: e.TargetSessionID, RunID: payload.RunID, RequestID: payload.RequestID,
			FromSessionID: e.SessionID, Message: payload.Message, Resolution: payload.Resolution,
		}
	case EffectReviewApproval:
	}
	return nil
}

// Refused returns the command that takes the place of Command when the target
// session refused it for good, or nil when there is none: a child whose parent's
// session is over gets a declined answer.
func (e *Effect) Refused(code Code, nowMs int64) Command {
	if e.Kind != EffectOpenClarification || code != CodeSessionEnded && code != CodeSessionNotFound {
		return nil
	}
	var payload openClarificationPayload
	decodeStored(e.Payload, &payload)
	resolution := declinedBy(OutcomeDeclined, "the parent session has ended", "session_ended", Actor{Name: ResolvedBySystem, Via: ViaEnd})
	resolution.RequestID, resolution.ResolvedAtMs = payload.Request.ID, nowMs
	return &DeliverAnswer{
		SessionID: e.SessionID, RunID: payload.Requester.RequesterRunID, RequestID: payload.Request.ID,
		FromSessionID: e.TargetSessionID,
		Message:       encode(clarificationMessage{messageTypeAnswer, clarificationAnswer(payload.Request, resolution)}),
		Resolution:    encode(resolution),
	}
}

// owe writes an effect that the decision owes. It is due at once.
func (w *work) owe(effect *Effect) {
	effect.State = EffectPending
	effect.CreatedAtMs, effect.DueAtMs = w.nowMs, w.nowMs
	w.changes.NewEffects = append(w.changes.NewEffects, effect)
}

// effect returns a working copy of one of the session's effects, or nil. Saving it
// is the caller's.
func (w *work) effect(effectID string) *Effect {
	row := w.state.Effects[effectID]
	if row == nil || row.SessionID != w.state.SessionID {
		return nil
	}
	effect := *row
	return &effect
}

// backoff is the pause after an attempt failed, in milliseconds.
func (e *Effect) backoff() int64 {
	return min(firstEffectPauseMs<<min(max(e.Attempts-1, 0), MaxEffectAttempts), longestEffectPauseMs)
}

// EffectView is an effect on the wire.
type EffectView struct {
	EffectID        string      `json:"effect_id"`
	SessionID       string      `json:"session_id"`
	RunID           string      `json:"run_id"`
	Kind            EffectKind  `json:"kind"`
	State           EffectState `json:"state"`
	TargetSessionID string      `json:"target_session_id"`
	CreatedAtMs     int64       `json:"created_at_ms"`
	DueAtMs         int64       `json:"due_at_ms,omitzero"`
	Attempts        int64       `json:"attempts"`
	LastError       string      `json:"last_error,omitempty"`
	FinishedAtMs    int64       `json:"finished_at_ms,omitzero"`
}

// View returns the effect as the wire shows it, without its payload.
func (e *Effect) View() EffectView {
	return EffectView{
		EffectID: e.EffectID, SessionID: e.SessionID, RunID: e.RunID, Kind: e.Kind, State: e.State,
		TargetSessionID: e.TargetSessionID, CreatedAtMs: e.CreatedAtMs, DueAtMs: e.DueAtMs,
		Attempts: e.Attempts, LastError: e.LastError, FinishedAtMs: e.FinishedAtMs,
	}
}
