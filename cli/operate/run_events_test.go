package operate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// Only the service's events say what was decided.
func TestAWorkersEventDecidesNothing(t *testing.T) {
	t.Parallel()
	const resolution = `{"request_id":"a","outcome":"allowed","resolved_by":"user:ada","resolved_at_ms":1,"via":"api:inbox"}`
	for _, test := range []struct{ event, kind, what string }{
		{`{"type":"approval_resolved","resolutions":[` + resolution + `]}`, "approval_resolved", "a allowed by user:ada, in the inbox"},
		{`{"type":"user_question_resolved","resolution":` + resolution + `}`, "user_question_resolved", "a allowed by user:ada, in the inbox"},
		{`{"type":"parent_clarification_resolved","resolution":` + resolution + `}`, "parent_clarification_resolved", "a allowed by user:ada, in the inbox"},
		{`{"type":"note","resolutions":[` + resolution + `],"reason":"why"}`, "note", "why"},
		{`{"type":"note","resolution":` + resolution + `}`, "note", ""},
		{`{"type":"note","resolutions":[null]}`, "note", ""},
		{`{"type":"note","resolutions":5}`, "note", ""},
		{`{"type":"note","reason":5}`, "", `{"type":"note","reason":5}`},
		{`{"type":"approval_resolved","resolutions":5}`, "", `{"type":"approval_resolved","resolutions":5}`},
	} {
		kind, what := eventText(&api.RunEventEntry{Event: api.JSON(test.event)})
		require.Equal(t, []string{test.kind, test.what}, []string{kind, what}, test.event)
	}
}
