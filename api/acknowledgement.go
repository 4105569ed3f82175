package api

// Limits of acknowledgements.
const (
	// MaxAcknowledgementMs bounds how long a person may acknowledge a request, and
	// DefaultAcknowledgementMs is the time without UntilMs.
	MaxAcknowledgementMs     = 4 * 3_600_000
	DefaultAcknowledgementMs = 30 * 60_000
	// MaxAcknowledgements is the maximum number of people who acknowledge one request. A newer
	// acknowledgement replaces the oldest one.
	MaxAcknowledgements = 16
	// MaxSnoozeMs bounds how long a person may snooze a request, and MaxSnoozes is the maximum number
	// of people who snooze one. A newer snooze replaces the oldest one.
	MaxSnoozeMs = 7 * 86_400_000
	MaxSnoozes  = 64
)

// AcknowledgementState is what a person says about an open request.
type AcknowledgementState string

// States of acknowledgements.
const (
	// Acknowledged: the person is looking at the request.
	Acknowledged AcknowledgementState = "acknowledged"
	// Snoozed: the person wants no messages about the request for a while. Lists show it to that person
	// only; the session's log records it.
	Snoozed AcknowledgementState = "snoozed"
	// NotAcknowledged takes an acknowledgement or a snooze back. It is never stored.
	NotAcknowledged AcknowledgementState = "none"
)

// AcknowledgementBody says whether the caller is looking at an open request, or snoozes it. A person
// has one state for each request, so either replaces the other.
type AcknowledgementBody struct {
	State AcknowledgementState `json:"state" body:"required"`
	// UntilMs is when the acknowledgement lapses, at most MaxAcknowledgementMs from now. When absent,
	// a current acknowledgement stays as it is, and a new one lapses after DefaultAcknowledgementMs.
	// A snooze requires it, at most MaxSnoozeMs from now.
	UntilMs *int64 `json:"until_ms,omitempty"`
}

// Acknowledgement says that a person is looking at an open request. It reserves nothing. After
// UntilMs it no longer counts.
type Acknowledgement struct {
	By           string               `json:"by"`
	ViaPrincipal string               `json:"via_principal,omitempty"`
	State        AcknowledgementState `json:"state"`
	AtMs         int64                `json:"at_ms"`
	UntilMs      int64                `json:"until_ms"`
}
