package audit

import "github.com/holdpoint/holdpoint/api"

// The purposes for which an export is signed.
const (
	headerPurpose  = "holdpoint-audit-header+jws"
	trailerPurpose = "holdpoint-audit-trailer+jws"
)

// format is the version of the form of an export.
const format = 1

// Scope says what is exported.
type Scope struct {
	// SessionID is that of the only session, "" for all.
	SessionID string `json:"session_id,omitempty"`
	// SinceMs leaves out the events of each session before the first one at or after that moment.
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
	// Lines is how many stand before it, and Digest the hexadecimal SHA-256 of their bytes.
	Lines  int64  `json:"lines"`
	Digest string `json:"digest"`
	Chains int64  `json:"chains"`
	// Entries is how many lines of the audit's own log are among them.
	Entries int64 `json:"entries"`
	Events  int64 `json:"events"`
	// Checkpoints is how many are among the lines.
	Checkpoints int64 `json:"checkpoints"`
}

// line is one line of an export: the first, the last, the begin or the end of a chain, or an event.
type line struct {
	Header  string     `json:"header,omitempty"`
	Trailer string     `json:"trailer,omitempty"`
	Chain   *chainLine `json:"chain,omitzero"`
	End     *endLine   `json:"end,omitzero"`
	// Checkpoint is a signed one. They stand behind all chains.
	Checkpoint string `json:"checkpoint,omitempty"`
}

// chainLine stands before the events of a session, or with an empty SessionID before the lines of the
// audit's own log, which stand before all sessions.
type chainLine struct {
	SessionID string `json:"session_id"`
	// AfterID and AfterHash are those of the event before the first one that follows, "0" and ""
	// when there is none. The hash is "" too where it is not known, because the event is in no chain.
	AfterID   string `json:"after_id"`
	AfterHash string `json:"after_hash"`
	// Life is the session's life, as in a [Head]. Young says that the session began after the export did, so that the
	// deletion of an earlier session with its id need not be among the lines of the audit's own log.
	Life  string `json:"life,omitempty"`
	Young bool   `json:"young,omitzero"`
}

// endLine stands behind them.
type endLine struct {
	SessionID string `json:"session_id"`
	LastID    string `json:"last_id"`
	LastHash  string `json:"last_hash"`
}

// eventLine is the line of an event: as /v1 shows it. A line of the audit's own log has fewer members.
type eventLine = api.RunEventEntry
