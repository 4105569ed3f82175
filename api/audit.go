package api

// AuditEventType is the type of an entry in the audit log.
type AuditEventType string

// Types of audit entries.
const (
	AuditTokenCreated AuditEventType = "token_created"
	AuditTokenRotated AuditEventType = "token_rotated"
	AuditTokenRevoked AuditEventType = "token_revoked"
	AuditSignedIn     AuditEventType = "signed_in"
	AuditSignedOut    AuditEventType = "signed_out"
	// AuditRuleCreated is not written for a rule that a decision remembers for its session. The
	// decision's own event records it.
	AuditRuleCreated AuditEventType = "rule_created"
	// AuditRuleRevoked is also written for each rule in force that the end of its session revokes.
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
	// AuditLinkLocked: the link in a message to Principal stopped working after too many wrong codes.
	AuditLinkLocked AuditEventType = "link_locked"
	// AuditPressRefused: somebody else pressed a button in a message to Principal.
	AuditPressRefused AuditEventType = "press_refused"
	// AuditKeyAdded: a key signed for the first time.
	AuditKeyAdded AuditEventType = "key_added"
	// AuditEventsRedacted: event bodies of a session were removed.
	AuditEventsRedacted AuditEventType = "events_redacted"
	// AuditSessionDeleted: retention deleted a session. Its id can be used again.
	AuditSessionDeleted AuditEventType = "session_deleted"
	// AuditExported: an audit export was started.
	AuditExported AuditEventType = "audit_exported"
)

// AuditEvent is the content of an audit entry. Members that do not apply are empty.
type AuditEvent struct {
	Type AuditEventType `json:"type"`
	// Via is how the actor signed in, as in [Me]; ViaDatabase; or, for a rule, as in a resolution.
	Via string `json:"via,omitempty"`
	// ViaPrincipal is the principal of the credential when it acted for Actor.
	ViaPrincipal string `json:"via_principal,omitempty"`
	// ByTokenID is the token that the actor used.
	ByTokenID string `json:"by_token_id,omitempty"`

	TokenID   string `json:"token_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Role      Role   `json:"role,omitempty"`
	Principal string `json:"principal,omitempty"`
	// OnBehalfOf is the person whose token it is.
	OnBehalfOf string `json:"on_behalf_of,omitempty"`
	// These are what the new token may do and reach, as in [TokenView].
	Groups          []string `json:"groups,omitempty"`
	SessionPrefixes []string `json:"session_prefixes,omitempty"`
	AgentIDs        []string `json:"agent_ids,omitempty"`
	MayActFor       bool     `json:"may_act_for,omitzero"`
	MayAlways       bool     `json:"may_always,omitzero"`
	ExpiresAtMs     int64    `json:"expires_at_ms,omitzero"`
	GraceMs         int64    `json:"grace_ms,omitzero"`

	RuleID    string     `json:"rule_id,omitempty"`
	SessionID string     `json:"session_id,omitempty"`
	Effect    RuleEffect `json:"effect,omitempty"`
	Text      string     `json:"text,omitempty"`
	// Life is the hash of the first event of the deleted session.
	Life string `json:"life,omitempty"`

	// AddressID and Channel are of an address of the actor, or of Principal. The address itself is in no log.
	AddressID string `json:"address_id,omitempty"`
	Channel   string `json:"channel,omitempty"`

	WebhookID string `json:"webhook_id,omitempty"`
	// Host is the host of the webhook's URL.
	Host   string `json:"host,omitempty"`
	Reason string `json:"reason,omitempty"`
	// EventIDs are the redacted events.
	EventIDs []string `json:"event_ids,omitempty"`

	KeyID   string `json:"key_id,omitempty"`
	SinceMs int64  `json:"since_ms,omitzero"`
}

// ViaDatabase is the via of changes made with direct access to the database.
const ViaDatabase = "database"

// AuditEntry is an entry of the audit log.
type AuditEntry struct {
	// ID is the entry's number as decimal text, from 1 without gaps.
	ID          string `json:"id"`
	TimestampMs int64  `json:"timestamp_ms"`
	// Actor is a principal, or "system".
	Actor string `json:"actor"`
	// Event is an [AuditEvent].
	Event JSON `json:"event"`
	// BodyDigest, Prev and Hash chain the entries, as in a [RunEventEntry] but without a session
	// and a run.
	BodyDigest string `json:"body_digest"`
	Prev       string `json:"prev"`
	Hash       string `json:"hash"`
}

// AuditList is a page of the audit log, oldest first.
type AuditList struct {
	Data       []AuditEntry `json:"data"`
	NextCursor *string      `json:"next_cursor"` // nil on the last page
}

// DefaultAuditPage is the page size of GET /v1/audit without a limit. MaxPageLimit is the maximum.
const DefaultAuditPage = 50

// MaxRedactions is the maximum number of events that one call redacts.
const MaxRedactions = 200

// RedactBody removes the bodies of events: those in EventIDs, or those before BeforeMs.
type RedactBody struct {
	_ struct{} `body:"closed"`
	// EventIDs are 1 to MaxRedactions event ids, as decimal text.
	EventIDs []string `json:"event_ids,omitzero"`
	// BeforeMs selects the events before the first one at or after that time, at most MaxRedactions
	// per call. AfterEventID skips the events up to that id.
	BeforeMs     *int64 `json:"before_ms,omitzero"`
	AfterEventID string `json:"after_event_id,omitempty"`
	// Reason is recorded. At most MaxTextLength bytes.
	Reason string `json:"reason" body:"required"`
}

// RedactReply reports what a call redacted. A repeated call returns the same reply.
type RedactReply struct {
	// Redacted counts the events of the call that no longer have a body.
	Redacted int64 `json:"redacted"`
	// NextAfterEventID is the after_event_id of the next call with BeforeMs; nil when there are no
	// more.
	NextAfterEventID *string `json:"next_after_event_id"`
}
