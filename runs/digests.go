package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// digestOf identifies a payload, so that the very same call is known again.
func digestOf(value any) (string, error) {
	digest, err := document.Digest(value)
	if err != nil {
		return "", refusal.Invalid(api.Fault{Detail: "has no canonical JSON form"})
	}
	return digest, nil
}

// fingerprint hashes a canonical body together with the operation and the target.
// The three are put together in the order of RFC 8785. The target is an id, whose
// characters need no escaping.
func fingerprint(operation model.Operation, target string, canonicalBody []byte) string {
	var b strings.Builder
	b.Grow(len(canonicalBody) + len(target) + 64)
	b.WriteString(`{"body":`)
	b.Write(canonicalBody)
	b.WriteString(`,"operation":"` + string(operation) + `","target":"` + target + `"}`)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// canonicalBody returns the RFC 8785 form of a body for its fingerprint. What
// cannot be written so was refused when the body was read.
func canonicalBody(body any) ([]byte, error) {
	canonical, err := document.Canonical(body)
	if err != nil {
		return nil, refusal.Invalid(api.Fault{Detail: "has no canonical JSON form"})
	}
	return canonical, nil
}
