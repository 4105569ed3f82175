package api

// AuditEventType names what a line of the audit's own log reports.
type AuditEventType string

// The types.
const (
	AuditTokenCreated AuditEventType = "token_created"
	AuditTokenRotated AuditEventType = "token_rotated"
	AuditTokenRevoked AuditEventType = "token_revoked"
	AuditSignedIn     AuditEventType = "signed_in"
	AuditSignedOut    AuditEventType = "signed_out"
	// AuditRuleCreated and AuditRuleRevoked are of every rule but those that a decision remembers
	// for its session, which the decision's event tells.
	AuditRuleCreated      AuditEventType = "rule_created"
	AuditRuleRevoked      AuditEventType = "rule_revoked"
	AuditWebhookCreated   AuditEventType = "webhook_created"
	AuditWebhookChanged   AuditEventType = "webhook_changed"
	AuditWebhookRotated   AuditEventType = "webhook_rotated"
	AuditWebhookDisabled  AuditEventType = "webhook_disabled"
	AuditWebhookRewrapped AuditEventType = "webhook_rewrapped"
	AuditWebhookRemoved   AuditEventType = "webhook_removed"
	AuditAddressAdded     AuditEventType = "address_added"
	AuditAddressVerified  AuditEventType = "address_verified"
	AuditAddressRemoved   AuditEventType = "address_removed"
	// AuditKeyAdded: a key signs for the first time.
	AuditKeyAdded AuditEventType = "key_added"
	// AuditEventsRedacted: bodies of events of a session were taken out.
	AuditEventsRedacted AuditEventType = "events_redacted"
	// AuditSessionDeleted: retention has deleted a session, whose id may be used again.
	AuditSessionDeleted AuditEventType = "session_deleted"
	// AuditExported: an export of the audit was begun.
	AuditExported AuditEventType = "audit_exported"
)

// AuditEvent is what a line of the audit's own log says. Members that do not apply are empty.
type AuditEvent struct {
	Type AuditEventType `json:"type"`
	// Via is by which way: as in [Me], ViaDatabase, or for a rule as in a resolution.
	Via string `json:"via,omitempty"`
	// ViaPrincipal is whose credential it was, when the actor is somebody for whom it may act.
	ViaPrincipal string `json:"via_principal,omitempty"`
	// ByTokenID is the token that the actor showed.
	ByTokenID string `json:"by_token_id,omitempty"`

	TokenID   string `json:"token_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Role      Role   `json:"role,omitempty"`
	Principal string `json:"principal,omitempty"`
	GraceMs   int64  `json:"grace_ms,omitzero"`

	RuleID    string     `json:"rule_id,omitempty"`
	SessionID string     `json:"session_id,omitempty"`
	Effect    RuleEffect `json:"effect,omitempty"`
	Text      string     `json:"text,omitempty"`
	// Life is the hash of the first event of a session that was deleted.
	Life string `json:"life,omitempty"`

	// AddressID and Channel are of an address of the actor. The address itself is in no log.
	AddressID string `json:"address_id,omitempty"`
	Channel   string `json:"channel,omitempty"`

	WebhookID string `json:"webhook_id,omitempty"`
	// Host is that of a webhook's URL.
	Host   string `json:"host,omitempty"`
	Reason string `json:"reason,omitempty"`
	// EventIDs are the events that were redacted.
	EventIDs []string `json:"event_ids,omitempty"`

	KeyID   string `json:"key_id,omitempty"`
	SinceMs int64  `json:"since_ms,omitzero"`
}

// ViaDatabase is how somebody acts who has the database itself.
const ViaDatabase = "database"

// AuditEntry is a line of the audit's own log.
type AuditEntry struct {
	// ID is the line's number, in decimal text, from 1 without gaps.
	ID          string `json:"id"`
	TimestampMs int64  `json:"timestamp_ms"`
	// Actor is who did it: a principal, or "system".
	Actor string `json:"actor"`
	// Event is an [AuditEvent].
	Event JSON `json:"event"`
	// BodyDigest, Prev and Hash are those of a [RunEventEntry], without a session and a run.
	BodyDigest string `json:"body_digest"`
	Prev       string `json:"prev"`
	Hash       string `json:"hash"`
}

// AuditList is a page of the audit's own log, oldest first.
type AuditList struct {
	Data       []AuditEntry `json:"data"`
	NextCursor *string      `json:"next_cursor"` // nil on the last page
}

// DefaultAuditPage is the page of GET /v1/audit without a limit; MaxPageLimit bounds it.
const DefaultAuditPage = 50

// MaxRedactions bounds the events that one call redacts.
const MaxRedactions = 200

// RedactBody takes out the bodies of events, of those in EventIDs or of those before BeforeMs.
type RedactBody struct {
	_ struct{} `body:"closed"`
	// EventIDs are 1 to MaxRedactions numbers of events, in decimal text.
	EventIDs []string `json:"event_ids,omitzero"`
	// BeforeMs takes the events before the first one at or after that moment, MaxRedactions of them
	// in a call; AfterEventID leaves out those up to one.
	BeforeMs     *int64 `json:"before_ms,omitzero"`
	AfterEventID string `json:"after_event_id,omitempty"`
	// Reason is on record, at most MaxTextLength bytes.
	Reason string `json:"reason" body:"required"`
}

// RedactReply says what a call has reached. A repeated call has the same answer.
type RedactReply struct {
	// Redacted is how many of the call's events have no body any more.
	Redacted int64 `json:"redacted"`
	// NextAfterEventID goes on with a call with BeforeMs; nil when all are taken out.
	NextAfterEventID *string `json:"next_after_event_id"`
}
