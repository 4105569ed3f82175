package runs

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// digestOf returns the digest of a payload, which identifies a repeated call. It returns
// invalid_request when the payload has no canonical form.
func digestOf(value any) (string, error) {
	digest, err := document.Digest(value)
	if err != nil {
		return "", noCanonicalForm()
	}
	return digest, nil
}

func noCanonicalForm() error { return refusal.Invalid(api.Fault{Detail: "has no canonical JSON form"}) }

// fingerprint returns the hexadecimal SHA-256 of the RFC 8785 form of {body, operation, target}
// (docs/spec/v1.md#fingerprint). The members are written in canonical order. The target is an id
// and needs no escaping.
func fingerprint(operation model.Operation, target string, canonicalBody []byte) string {
	text := make([]byte, 0, len(canonicalBody)+len(operation)+len(target)+64)
	text = append(append(text, `{"body":`...), canonicalBody...)
	text = append(append(text, `,"operation":"`...), operation...)
	text = append(append(append(text, `","target":"`...), target...), `"}`...)
	sum := sha256.Sum256(text)
	var digits [2 * len(sum)]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:])
}

// canonicalBody returns the RFC 8785 form of a body for its fingerprint. It returns
// invalid_request when there is none. document.Check rules that out for parsed JSON.
func canonicalBody(body any) ([]byte, error) {
	canonical, err := document.Canonical(body)
	if err != nil {
		return nil, noCanonicalForm()
	}
	return canonical, nil
}
