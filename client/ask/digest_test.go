package ask

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// Members that two calls with one key may differ in and still share a decision, each with its reason.
var notCompared = map[string]string{
	"ID": "names the request", "Handle": "names the request", "ToolCallID": "the agent's own id",
	"InputTruncated": "of summaries", "InputBytes": "of summaries", "InputMembers": "of summaries", "InputDigest": "of the input",
	"Scope": "words about the call", "Reason": "words about the call", "Description": "words about the call", "Hints": "words about the call",
	"Metadata": "words about the call", "PatternKeys": "for rules", "InputSchema": "bounds an edit", "SensitivePaths": "masks the input",
	"Callback": "who is told", "Escalation": "who is told, and when", "Traceparent": "of traces",
	"CreatedAtMs": "set by the service", "ExpiresAtMs": "how long it waits", "ExpiresAfterMs": "how long it waits",
}

// A call that differs in anything else does not join an earlier one, so it is not allowed by that one's decision.
func TestEveryOtherMemberOfAnApprovalTellsCallsApart(t *testing.T) {
	t.Parallel()
	asked := func() *api.ApprovalRequest { return &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{}`)} }
	before, err := digestOfCall(Call{Approval: asked()})
	require.NoError(t, err)
	members := reflect.TypeFor[api.ApprovalRequest]()
	for i := range members.NumField() {
		name := members.Field(i).Name
		if !members.Field(i).IsExported() || notCompared[name] != "" {
			continue
		}
		request := asked()
		switch member := reflect.ValueOf(request).Elem().Field(i).Addr().Interface().(type) {
		case *string:
			*member = "other"
		case *bool:
			*member = true
		case *api.JSON:
			*member = api.JSON(`{"other":1}`)
		default:
			require.Fail(t, "a kind of member that this test cannot fill", name)
		}
		after, err := digestOfCall(Call{Approval: request})
		require.NoError(t, err)
		require.NotEqual(t, before, after, "two calls that differ in %s share a decision", name)
	}
}
