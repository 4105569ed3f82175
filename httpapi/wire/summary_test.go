package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// A cut event has the members that it had, and no others.
func TestASummaryKeepsTheMembersOfAnEvent(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 2*api.MaxSummaryInputBytes)
	entry := api.RunEventEntry{Event: api.JSON(`{"type":"waiting_for_approval","requests":[{"id":"a","tool_call_id":"c","tool_name":"t","input":"` + large + `"}],"later":{"n":1}}`)}
	cut := string(wire.SummarizeEvent(entry, api.EventWaitingForApproval).Event)
	require.Less(t, len(cut), len(large))
	require.Contains(t, cut, `"later":{"n":1}`)
	require.NotContains(t, cut, "Others")
}
