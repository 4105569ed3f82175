package notify

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The digest of an input with sensitive values has another prefix.
func TestAMessageShowsTheDigitsOfADigest(t *testing.T) {
	t.Parallel()
	for digest, want := range map[string]string{
		"sha256:0123456789abcdef": "01234567", "hmac-sha256:fedcba9876543210": "fedcba98", "sha256:01": "", "sha256:": "", "": "",
	} {
		require.Equal(t, want, shortDigest(digest), digest)
	}
}
