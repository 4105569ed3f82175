package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/chain"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/runs/model"
)

// MaxLineBytes is the maximum length of one line of an export.
const MaxLineBytes = 64 << 20

// BrokenError says where an export differs from what the service wrote.
type BrokenError struct {
	Line   int64 // from 1
	Detail string
}

// Error implements error.
func (b *BrokenError) Error() string { return fmt.Sprintf("line %d: %s", b.Line, b.Detail) }

// Report describes a verified export.
type Report struct {
	Scope
	AtMs int64
	// EndMs is the time when the export ended.
	EndMs          int64
	Chains, Events int64
	// Entries counts the entries of the audit log.
	Entries int64
	// Redacted counts the events whose bodies were removed. Their digests remain.
	Redacted int64
	// Unchained counts the events without hashes at the beginning of sessions, from before the chain was
	// introduced. The export's signature proves only that they were not changed after the export.
	Unchained int64
	// Checkpoints counts the checkpoints of the export, and Signed the events that one of them
	// names. Absent counts named events of sessions that are not in the export, because they were
	// deleted (docs/retention.md) or not exported. Another session may have the same id.
	Checkpoints, Signed, Absent int64
	// Young counts the sessions with another first event than checkpoints name that are dated after the
	// beginning of the export, and not after its EndMs. The export may have been too early for the entry
	// that the earlier session with the id was deleted, so they may be forged.
	Young int64
	// Missing are the sessions that checkpoints name, and that are neither in an export of everything nor in the audit
	// log as deleted: they were deleted while the export was written, or not by the service. Sorted.
	Missing []string
	// Trimmed counts the sessions whose first events are not in an export from the beginning, as retention leaves them.
	// Nothing in the export shows that it was retention.
	Trimmed int64
}

// verifier is the state of a verification.
type verifier struct {
	keys   *signing.Public
	report Report
	number int64 // of the line
	digest hash.Hash
	closed bool // the last line was read
	signed signedHeads

	// begun is set after the first chain line.
	begun    bool
	open     bool // within a chain
	session  string
	lastID   int64
	lastHash string // "" before the first event with a hash
	life     string // of the chain
	// deleted are the sessions whose deletion is in the audit log.
	deleted map[sessionLife]bool
	// young are the sessions that the report counts as Young.
	young map[string]bool
}

// Verify verifies an export with the public keys alone: the export is complete, every event matches
// its digest and hash and follows the previous one, the service signed all of it, and it contains
// every event that its checkpoints name. It holds one line and headsAtOnce heads in memory. With
// more heads it reads the file several times.
//
// Errors: a [*BrokenError] with the first line that was changed; the reader's error.
func Verify(from io.ReadSeeker, keys *signing.Public) (Report, error) {
	v := &verifier{keys: keys, digest: sha256.New()}
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		text, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return v.report, err
		}
		if len(text) == 0 && err != nil {
			break
		}
		v.number++
		if len(text) > MaxLineBytes {
			return v.report, v.broken("it is longer than %d bytes", MaxLineBytes)
		}
		if text[len(text)-1] != '\n' {
			return v.report, v.broken("it is cut off")
		}
		if failed := v.line(text); failed != nil {
			if misplaced, ok := errors.AsType[*misplacedError](failed); ok {
				return v.report, v.broken("%s", misplaced.explain(lines))
			}
			return v.report, failed
		}
	}
	if !v.closed {
		v.number++
		return v.report, v.broken("it is missing, with everything after it: the file is cut off here")
	}
	return v.report, v.compareHeads(from)
}

// readLine returns a line with its newline, cut slightly above MaxLineBytes.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := lines.ReadSlice('\n')
		text = append(text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(text) > MaxLineBytes {
			return text, err
		}
	}
}

func (v *verifier) broken(format string, args ...any) error {
	return &BrokenError{Line: v.number, Detail: fmt.Sprintf(format, args...)}
}

// chainCalled returns a chain's name for error messages.
func chainCalled(sessionID string) string {
	if sessionID == "" {
		return "the audit log"
	}
	return fmt.Sprintf("session %.200s", sessionID)
}

// line checks one line.
func (v *verifier) line(text []byte) error {
	if v.closed {
		return v.broken("there are more lines after the last line of the export")
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return v.broken("it is not a JSON object of an export: it was changed")
	}
	if v.number == 1 {
		return v.readHeader(&l, text)
	}
	if l.Trailer != "" {
		return v.readTrailer(&l)
	}
	v.digest.Write(text) // a hash returns no error
	switch {
	case l.Chain != nil:
		return v.beginChain(l.Chain)
	case l.End != nil:
		return v.endChain(l.End)
	case l.Checkpoint != "":
		return v.readCheckpoint(l.Checkpoint)
	case l.Header != "":
		return v.broken("it is a second header: lines were added")
	}
	return v.event(text)
}

func (v *verifier) readHeader(l *line, text []byte) error {
	if l.Header == "" {
		return v.broken("it is not the first line of an export: the beginning is missing, or was changed")
	}
	payload, err := v.keys.Verify(headerPurpose, l.Header)
	if err != nil {
		return v.broken("%s", err)
	}
	var h header
	if err := json.Unmarshal(payload, &h); err != nil || h.Format != format {
		return v.broken("it is of another version of this program")
	}
	v.report.Scope = h.Scope
	v.digest.Write(text) // a hash returns no error
	return nil
}

func (v *verifier) readTrailer(l *line) error {
	payload, err := v.keys.Verify(trailerPurpose, l.Trailer)
	if err != nil {
		return v.broken("%s", err)
	}
	var t trailer
	if err := json.Unmarshal(payload, &t); err != nil || t.EndMs == 0 {
		return v.broken("it is of another version of this program")
	}
	switch {
	case v.open:
		return v.broken("lines of %s are missing before it", chainCalled(v.session))
	case t.Lines != v.number-1 || t.Chains != v.report.Chains || t.Events != v.report.Events || t.Entries != v.report.Entries || t.Checkpoints != v.report.Checkpoints:
		return v.broken("%d lines, %d sessions, %d events, %d entries of the audit log and %d checkpoints were exported, but %d, %d, %d, %d and %d precede it",
			t.Lines, t.Chains, t.Events, t.Entries, t.Checkpoints, v.number-1, v.report.Chains, v.report.Events, v.report.Entries, v.report.Checkpoints)
	case t.Digest != hex.EncodeToString(v.digest.Sum(nil)):
		return v.broken("an earlier line was changed, and every hash after it was recomputed")
	}
	v.report.AtMs, v.report.EndMs, v.closed = t.AtMs, t.EndMs, true
	return nil
}

func (v *verifier) beginChain(c *chainLine) error {
	lastID, err := strconv.ParseInt(c.AfterID, 10, 64)
	switch {
	case v.open:
		return v.broken("lines of %s are missing before it", chainCalled(v.session))
	case v.report.Checkpoints > 0:
		return v.broken("it follows checkpoints: lines were reordered")
	case err != nil || lastID < 0:
		return v.broken("it was changed: after_id is not an event id")
	case v.report.SessionID != "" && c.SessionID != v.report.SessionID:
		return v.broken("it is of %s, which was not exported", chainCalled(c.SessionID))
	case v.begun && c.SessionID <= v.session:
		return v.broken("%s appears twice, or lines were reordered", chainCalled(c.SessionID))
	}
	if c.SessionID != "" && lastID > 0 && v.report.SinceMs == 0 {
		v.report.Trimmed++
	}
	v.begun, v.open, v.session, v.lastID, v.lastHash, v.life = true, true, c.SessionID, lastID, c.AfterHash, c.Life
	if c.SessionID != "" {
		v.report.Chains++
	}
	return nil
}

func (v *verifier) endChain(e *endLine) error {
	switch {
	case !v.open || e.SessionID != v.session:
		return v.broken("it ends %s, which has no lines before it: lines are missing or were reordered", chainCalled(e.SessionID))
	case e.LastID != strconv.FormatInt(v.lastID, 10):
		return v.broken("event %.20q of %s is missing before it", e.LastID, chainCalled(v.session))
	case e.LastHash != v.lastHash:
		return v.broken("the last event of %s is not the one that was exported", chainCalled(v.session))
	}
	v.open = false
	return nil
}

// misplacedError reports an event whose predecessor is missing.
type misplacedError struct {
	session string
	wanted  int64
}

func (m *misplacedError) Error() string { return "misplaced" }

// explain reads the rest of the file to tell whether the missing event comes later.
func (m *misplacedError) explain(lines *bufio.Reader) string {
	wanted := strconv.FormatInt(m.wanted, 10)
	for {
		text, err := readLine(lines)
		var e struct {
			ID        string `json:"id"`
			SessionID string `json:"session_id"`
		}
		if len(text) <= MaxLineBytes && json.Unmarshal(text, &e) == nil && e.ID == wanted && e.SessionID == m.session {
			return fmt.Sprintf("event %s of %s belongs here but comes later: lines were reordered", wanted, chainCalled(m.session))
		}
		if err != nil {
			return fmt.Sprintf("event %s of %s is missing before it", wanted, chainCalled(m.session))
		}
	}
}

// event checks an event and its position.
func (v *verifier) event(text []byte) error {
	var e eventLine
	if err := json.Unmarshal(text, &e); err != nil {
		return v.broken("it is not an event: it was changed")
	}
	id, err := strconv.ParseInt(e.ID, 10, 64)
	switch {
	case err != nil || strconv.FormatInt(id, 10) != e.ID:
		return v.broken("it was changed: its id is not a number")
	case !v.open || e.SessionID != v.session:
		return v.broken("it is of %s, and does not belong here", chainCalled(e.SessionID))
	case id == v.lastID:
		return v.broken("event %d of %s appears twice", id, chainCalled(v.session))
	case id < v.lastID:
		return v.broken("event %d of %s appears twice, or lines were reordered", id, chainCalled(v.session))
	case id > v.lastID+1:
		return &misplacedError{v.session, v.lastID + 1}
	}
	v.lastID = id
	if v.session == "" {
		v.report.Entries++
		v.noteDeleted(&e)
		return v.join(&e)
	}
	v.report.Events++
	if id == 1 && v.life != "" && v.life != e.Hash {
		return v.broken("event 1 of %s is not the first one of the session that was exported: it was changed", chainCalled(v.session))
	}
	if e.Hash == "" && e.BodyDigest == "" && e.Prev == nil {
		if v.lastHash != "" || v.life != "" {
			return v.broken("event %d of %s has no hash, but an earlier one had: its hash was removed", id, chainCalled(v.session))
		}
		v.report.Unchained++
		return nil
	}
	return v.join(&e)
}

// noteDeleted records a session that an entry of the audit log reports as deleted.
func (v *verifier) noteDeleted(e *eventLine) {
	var event api.AuditEvent
	if json.Unmarshal(e.Event, &event) != nil || event.Type != api.AuditSessionDeleted {
		return
	}
	if v.deleted == nil {
		v.deleted = map[sessionLife]bool{}
	}
	v.deleted[sessionLife{event.SessionID, event.Life}] = true
}

// join checks that an event matches its hashes and follows the previous event.
func (v *verifier) join(e *eventLine) error {
	var typed struct {
		Type api.EventType `json:"type"`
	}
	digest, err := chain.BodyDigest(bytes.Clone(e.Event))
	switch {
	case err != nil || json.Unmarshal(e.Event, &typed) != nil:
		return v.broken("the body of event %s was changed", e.ID)
	case digest != e.BodyDigest:
		// Entries of the audit log are never redacted.
		event := model.Event{SessionID: e.SessionID, RunID: e.RunID, Type: typed.Type, TimestampMs: e.TimestampMs, Body: e.Event, BodyDigest: e.BodyDigest}
		if e.SessionID == "" || !event.Redacted() {
			return v.broken("the body of event %s does not match its body_digest: it was changed", e.ID)
		}
		v.report.Redacted++
	}
	if e.Prev == nil {
		return v.broken("event %s has no prev: it was changed", e.ID)
	}
	link := chain.Link{
		SessionID: e.SessionID, ID: e.ID, Type: string(typed.Type), TimestampMs: e.TimestampMs,
		RunID: e.RunID, Actor: e.Actor, BodyDigest: e.BodyDigest, Prev: *e.Prev,
	}
	switch {
	case link.Hash() != e.Hash:
		return v.broken("event %s does not match its hash: its actor, time, type or run was changed", e.ID)
	case *e.Prev != v.lastHash:
		return v.broken("event %s does not follow the event before it: one of the two was changed", e.ID)
	}
	v.lastHash = e.Hash
	return nil
}
