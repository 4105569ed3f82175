package hermes

import (
	"net/http"
	"strings"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Headers that name the request decided by a call without an id.
const (
	ApprovalIDHeader = "X-Approval-Id"
	ClarifyIDHeader  = "X-Clarify-Id"
)

// Choices (docs/spec/hermes.md#choice).
const (
	choiceOnce    = "once"
	choiceSession = "session"
	choiceAlways  = "always"
	choiceDeny    = "deny"
)

// Codes of a choice that did not reach the run.
const (
	codeRunUnavailable = "gateway_run_unavailable"
	codeRelayFailed    = "gateway_approval_relay_failed"
)

// Texts of errors. Clients look for textStale.
const (
	textNoSession  = "session_id is required"
	textNoResponse = "response is required"
	textRunEnded   = "The run has ended; there is nothing left to approve."
	textTwice      = "a member is given twice"
	textAmbiguous  = "The response names options whose labels can be read in several ways. Answer with the ids of the options."
	textStale      = "Clarification prompt expired or not found. The agent may have already proceeded."
)

type (
	// failure is the body of an error.
	failure struct {
		Error string `json:"error"`
	}
	// chosen is the reply to a choice.
	chosen struct {
		OK           bool   `json:"ok"`
		Choice       string `json:"choice"`
		StaleCleared bool   `json:"stale_cleared,omitzero"`
		// YoloEnabled is set when the caller asked for it.
		YoloEnabled *bool `json:"yolo_enabled,omitempty"`
		// ResolvedCount is the number of approvals that a drain decided.
		ResolvedCount int `json:"resolved_count,omitzero"`
	}
	// notRelayed is the reply to a choice that did not reach the run.
	notRelayed struct {
		OK      bool   `json:"ok"`
		Choice  string `json:"choice"`
		Relayed bool   `json:"relayed"`
		Code    string `json:"code"`
		Error   string `json:"error"`
		// YoloEnabled is set when the caller asked for it.
		YoloEnabled *bool `json:"yolo_enabled,omitempty"`
	}
	// answered is the reply to an answer.
	answered struct {
		OK       bool   `json:"ok"`
		Response string `json:"response"`
	}
	// stale is the reply to an answer that came too late.
	stale struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		Stale bool   `json:"stale"`
	}
)

// errStale refuses an answer to a settled or unknown question.
var errStale = &kit.Error{Status: http.StatusConflict, Body: stale{Error: textStale, Stale: true}}

// errTooLarge refuses a body above [MaxBodyBytes], and errChunked one above [MaxChunkedBytes].
var (
	errTooLarge = refusal.New(wire.CodePayloadTooLarge, "the body must have at most %d bytes", MaxBodyBytes)
	errChunked  = refusal.New(wire.CodePayloadTooLarge, "a body without a Content-Length must have at most %d bytes", MaxChunkedBytes)
)

// refuse returns an error with a text.
func refuse(status int, text string) error {
	return &kit.Error{Status: status, Body: failure{text}}
}

// refusalOf returns an error with its status from /v1. A missing or invalid credential is 403,
// because clients treat a 401 as the end of their own sign-in and ask for a password that this
// service does not have.
func refusalOf(err error) *kit.Error {
	reply := kit.Refusal(err, func(detail string) any { return failure{detail} })
	if reply.Status == http.StatusUnauthorized {
		reply.Status = http.StatusForbidden
	}
	return reply
}

// faultsOf describes the faults without pointers, which refer to a command that the caller never
// saw.
func faultsOf(err error) string {
	refused := kit.RefusalOf(err)
	if refused == nil || len(refused.Faults) == 0 {
		return wire.ProblemOf(err).Detail
	}
	faults := make([]string, len(refused.Faults))
	for i, fault := range refused.Faults {
		faults[i] = fault.Detail
	}
	return strings.Join(faults, "; ")
}
