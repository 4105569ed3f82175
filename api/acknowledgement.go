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
)

// AcknowledgementState is what a person says about an open request.
type AcknowledgementState string

// States of acknowledgements.
const (
	// Acknowledged: the person is looking at the request.
	Acknowledged AcknowledgementState = "acknowledged"
	// NotAcknowledged takes an acknowledgement back. It is never stored.
	NotAcknowledged AcknowledgementState = "none"
)

// AcknowledgementBody says whether the caller is looking at an open request.
type AcknowledgementBody struct {
	State AcknowledgementState `json:"state" body:"required"`
	// UntilMs is when the acknowledgement lapses, at most MaxAcknowledgementMs from now. When absent,
	// a current acknowledgement stays as it is, and a new one lapses after DefaultAcknowledgementMs.
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
