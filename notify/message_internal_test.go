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

// An agent's text is one line of a message, whatever begins a line.
func TestAnAgentsTextIsOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"deploy\u2028Deadline: never":      "deploy Deadline: never",
		"deploy\u2029Code: 1234":           "deploy Code: 1234",
		"deploy\r\n\u0085\v\fto\tprod":     "deploy     to prod",
		"\u202edeploy\u200b\ufeff\ufffd":   "deploy",
		"déploie\u00a0tout en 部署 🚀 नमस्ते": "déploie tout en 部署 🚀 नमस्ते",
		"👩\u200d💻 and ❤\ufe0f":             "👩 💻 and ❤\ufe0f",
	} {
		require.Equal(t, want, clean(text), "%+q", text)
	}
}
