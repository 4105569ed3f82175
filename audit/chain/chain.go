// Package chain computes the hashes that link the entries of a log: each entry has the digest of
// its body, and a hash over itself and the previous entry's hash. Anyone with the entries can
// recompute all of them without the service (docs/audit.md).
//
// It must not know the meaning of a log, where it is stored, or who signs it.
package chain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/internal/canonical"
)

// Link is the input of an entry's hash.
type Link struct {
	SessionID   string
	ID          string // decimal
	Type        string
	TimestampMs int64
	RunID       string
	Actor       string
	BodyDigest  string
	// Prev is the hash of the previous entry, "" for the first one.
	Prev string
}

// Hash returns the SHA-256, in lower-case hexadecimal, of the RFC 8785 form of the object with the
// members session_id, id, type, timestamp_ms, run_id, actor, body_digest and prev. Invalid UTF-8
// counts as U+FFFD.
func (l *Link) Hash() string {
	text := make([]byte, 0, 512)
	text = appendText(append(text, `{"actor":`...), l.Actor)
	text = appendText(append(text, `,"body_digest":`...), l.BodyDigest)
	text = appendText(append(text, `,"id":`...), l.ID)
	text = appendText(append(text, `,"prev":`...), l.Prev)
	text = appendText(append(text, `,"run_id":`...), l.RunID)
	text = appendText(append(text, `,"session_id":`...), l.SessionID)
	text = strconv.AppendInt(append(text, `,"timestamp_ms":`...), l.TimestampMs, 10)
	text = appendText(append(text, `,"type":`...), l.Type)
	return sum(append(text, '}'))
}

// appendText appends the RFC 8785 form of a string.
func appendText(text []byte, value string) []byte {
	quoted, err := jsontext.AppendQuote(text, value)
	if err != nil { // not UTF-8: Canonical fails, and U+FFFD is used
		quoted, _ = jsontext.AppendQuote(text, string(bytes.ToValidUTF8([]byte(value), []byte("\uFFFD"))))
	}
	return quoted
}

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	var digits [2 * len(digest)]byte
	hex.Encode(digits[:], digest[:])
	return string(digits[:])
}

// digestOfNothing is the digest of a body that has only a type.
var digestOfNothing = sum([]byte("{}"))

// BodyDigest returns the SHA-256, in lower-case hexadecimal, of the RFC 8785 form of a body without
// its member "type". It returns an error when the body is not a JSON object with a canonical form.
func BodyDigest(body []byte) (string, error) {
	members, err := canonical.Members(body)
	if err != nil {
		return "", fmt.Errorf("body of an event: %w", err)
	}
	members = slices.DeleteFunc(members, func(m canonical.Member) bool { return m.Is("type") })
	if len(members) == 0 {
		return digestOfNothing, nil
	}
	rest, err := canonical.Object(members)
	if err != nil {
		return "", fmt.Errorf("body of an event: %w", err)
	}
	return sum(rest), nil
}

// DigestOfCanonical is [BodyDigest] for the RFC 8785 form of a body without its member "type".
func DigestOfCanonical(body []byte) string { return sum(body) }

// OwnBodyDigest is [BodyDigest] for a body that begins with its type, as the service writes them.
// The type must not need escapes in JSON.
func OwnBodyDigest(eventType string, body []byte) (string, error) {
	rest, found := bytes.CutPrefix(body, []byte(`{"type":"`))
	if found && len(rest) > len(eventType) && string(rest[:len(eventType)]) == eventType && rest[len(eventType)] == '"' {
		rest = rest[len(eventType)+1:]
	} else {
		return BodyDigest(body)
	}
	switch {
	case len(rest) == 0:
		return BodyDigest(body)
	case string(rest) == "}":
		return digestOfNothing, nil
	case len(rest) < 2 || rest[0] != ',' || rest[1] != '"':
		return BodyDigest(body)
	}
	others, err := canonical.Text(append(append(make([]byte, 0, len(rest)), '{'), rest[1:]...))
	if err != nil {
		return "", fmt.Errorf("body of an event: %w", err)
	}
	return sum(others), nil
}
