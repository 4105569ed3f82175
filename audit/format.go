package audit

import "github.com/holdpoint/holdpoint/api"

// Signing purposes of an export.
const (
	headerPurpose  = "holdpoint-audit-header+jws"
	trailerPurpose = "holdpoint-audit-trailer+jws"
)

// format is the version of the export format.
const format = 1

// Scope selects what is exported.
type Scope struct {
	// SessionID limits the export to one session; "" for all.
	SessionID string `json:"session_id,omitempty"`
	// SinceMs omits the events of each session before the first one at or after that time.
	SinceMs int64 `json:"since_ms,omitzero"`
}

// header is the payload of the first line.
type header struct {
	Format int64 `json:"format"`
	AtMs   int64 `json:"at_ms"`
	Scope
}

// trailer is the payload of the last line.
type trailer struct {
	AtMs int64 `json:"at_ms"`
	// EndMs is the time when the export ended.
	EndMs int64 `json:"end_ms"`
	// Lines counts the lines before the last one; Digest is the hexadecimal SHA-256 of their bytes.
	Lines  int64  `json:"lines"`
	Digest string `json:"digest"`
	Chains int64  `json:"chains"`
	// Entries counts the entries of the audit log among them.
	Entries int64 `json:"entries"`
	Events  int64 `json:"events"`
	// Checkpoints counts the checkpoints among the lines.
	Checkpoints int64 `json:"checkpoints"`
}

// line is one line of an export: the first, the last, the beginning or end of a chain, or an event.
type line struct {
	Header  string     `json:"header,omitempty"`
	Trailer string     `json:"trailer,omitempty"`
	Chain   *chainLine `json:"chain,omitzero"`
	End     *endLine   `json:"end,omitzero"`
	// Checkpoint is a signed checkpoint. Checkpoints follow all chains.
	Checkpoint string `json:"checkpoint,omitempty"`
}

// chainLine precedes the events of a session. With an empty SessionID it precedes the entries of
// the audit log, which come before all sessions.
type chainLine struct {
	SessionID string `json:"session_id"`
	// AfterID and AfterHash identify the event before the first exported one, "0" and "" when there
	// is none. The hash is also "" for an event from before the chain was introduced.
	AfterID   string `json:"after_id"`
	AfterHash string `json:"after_hash"`
	// Life is the session's life, as in a [Head]. Young means that the session's first event is dated
	// after the beginning of the export, so the audit log in the export may not contain the deletion of
	// an earlier session with its id.
	Life  string `json:"life,omitempty"`
	Young bool   `json:"young,omitzero"`
}

// endLine follows the events of a chain.
type endLine struct {
	SessionID string `json:"session_id"`
	LastID    string `json:"last_id"`
	LastHash  string `json:"last_hash"`
}

// eventLine is an event as /v1 shows it. An entry of the audit log has fewer members.
type eventLine = api.RunEventEntry
