package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/canonical"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Kind returns the kind of a JSON value by its first byte: { [ " t f n, or the character 0 for
// any number. It returns the byte 0 for an absent value. It does not check the rest of the text.
func Kind(value api.JSON) byte { return byte(jsontext.Value(value).Kind()) }

// Members returns the number of members of an object with several, else 0. The value must have
// been checked.
func Members(value api.JSON) int64 {
	if Kind(value) != '{' {
		return 0
	}
	count := canonical.Count(bytes.TrimSpace(value))
	if count < 2 {
		return 0
	}
	return count
}

// Compact returns a copy of a JSON value without white space between its tokens. It returns an
// error if the text is not one JSON value.
func Compact(value api.JSON) (api.JSON, error) {
	compact := jsontext.Value(slices.Clone(value))
	err := compact.Compact()
	return api.JSON(compact), err
}

// maxExactInteger bounds integers in the service's own members: clients read them as doubles.
const maxExactInteger = 1 << 53

// Check reads a JSON text once and rejects what could not be stored and returned unchanged
// (docs/spec/v1.md#bodies). It returns nil, or a [refusal.Error]:
//
//   - bad_request if the text is not exactly one JSON value: broken syntax, a duplicate member,
//     a lone surrogate, invalid UTF-8, trailing text;
//   - invalid_request, with every pointer, if it nests deeper than [api.MaxJSONDepth] levels, or
//     has a number that is too large or too small for a double.
func Check(text []byte) error {
	var faults refusal.Faults
	if _, err := (&Shape{kind: anyValue}).Check(text, &faults); err != nil {
		return err
	}
	return faults.Err()
}

func syntaxError(err error) error {
	detail := "the body is not valid JSON"
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		detail = fmt.Sprintf("the body is not valid JSON: at byte %d: %v", syntactic.ByteOffset, syntactic.Err)
	}
	return &refusal.Error{Code: api.CodeBadRequest, Detail: detail}
}

// numberFault returns the fault of a number, "" without one. An integer may have any number of
// digits within a double's range; it is stored as written.
func numberFault(literal string) string {
	value, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(value, 0) || value == 0 && !zero(literal) {
		return "number is out of range"
	}
	return ""
}

// zero reports whether a number literal is 0 as written. ParseFloat also returns 0 for literals
// that are too small for a double.
func zero(literal string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e")
	return strings.Trim(mantissa, "-0.") == ""
}

// Canonical returns the RFC 8785 form of a value; integers beyond 2^53 keep their digits.
// Compare or hash values only in this form: two texts of one value have the same one. It returns
// an error if there is none.
func Canonical(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	form, err := canonical.Value(text)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	return form, nil
}

// Digest returns "sha256:" and the hexadecimal SHA-256 of the value's [Canonical] form. The
// order of members does not matter. It returns an error if there is no such form.
func Digest(value any) (string, error) {
	canonical, err := Canonical(value)
	if err != nil {
		return "", err
	}
	return DigestOfCanonical(canonical), nil
}

// DigestOfCanonical is [Digest] for a [Canonical] form.
func DigestOfCanonical(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	const prefix = "sha256:"
	var digest [len(prefix) + 2*len(sum)]byte
	hex.Encode(digest[copy(digest[:], prefix):], sum[:])
	return string(digest[:])
}

// KeyedDigestPrefix starts the digest of a secret value: a hexadecimal HMAC-SHA-256 with a key
// of the service.
const KeyedDigestPrefix = "hmac-sha256:"

// WholeDigest adds the "sha256:" that a caller may omit.
func WholeDigest(digest string) string {
	if len(digest) == 2*sha256.Size {
		return "sha256:" + digest
	}
	return digest
}

// ValidDigest reports whether a text has the form of a [Digest], or of a keyed one.
func ValidDigest(digest string) bool {
	const length = 64
	digits, prefixed := strings.CutPrefix(strings.TrimPrefix(digest, "hmac-"), "sha256:")
	_, err := hex.DecodeString(digits)
	return prefixed && len(digits) == length && err == nil && digits == strings.ToLower(digits)
}

// Encode returns the JSON text of the service's own value. It panics if that fails, which is a
// bug.
func Encode(value any) api.JSON {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("runs: a domain document has no JSON form: %v", err))
	}
	return text
}

// AbsentNull sets a JSON null to nil: null for an optional member reads as absent
// (docs/spec/v1.md#bodies).
func AbsentNull(value *api.JSON) {
	if Kind(*value) == 'n' {
		*value = nil
	}
}

// DecodeStored decodes a stored text. It panics if that fails: the row was changed outside of
// the service, and showing a part of it is not safe.
func DecodeStored(text api.JSON, into any) {
	if err := json.Unmarshal(text, into); err != nil {
		panic("runs: a stored document cannot be read: " + err.Error())
	}
}
