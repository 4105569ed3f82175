package visible_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/visible"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\n\tb\\u000d\\u202e\\u{e0041}\\u0430pple", visible.Escape("a\n\tb\r\u202e\U000e0041\u0430pple"))
}
