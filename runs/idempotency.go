package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/holdpoint/holdpoint/runs/model"
)

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
