package calltrace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/calltrace"
)

func TestTraceparentsAreTakenAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	good := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	require.Equal(t, good, calltrace.Traceparent([]string{good}))
	require.Empty(t, calltrace.Traceparent([]string{good, good}))
	require.Empty(t, calltrace.Traceparent(nil))
	for _, bad := range []string{
		"", good[:54], good + "-", strings.ToUpper(good), "ff" + good[2:], "01" + good[2:], strings.Replace(good, "-", "_", 1),
		"00-" + strings.Repeat("0", 32) + good[35:], good[:36] + strings.Repeat("0", 16) + "-01", good[:54] + "\n", good[:54] + "<",
	} {
		require.Empty(t, calltrace.Traceparent([]string{bad}), bad)
	}
}
