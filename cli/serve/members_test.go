//go:build faults

package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bodyMembers is a number of members or items that nearly fills a body of 1 MiB.
const bodyMembers = 70_000

// manyOf returns the item formatted n times with its number, in brackets.
func manyOf(brackets, item string, n int) string {
	var text strings.Builder
	text.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, item, n-i)
	}
	text.WriteByte(brackets[1])
	return text.String()
}

// Callers choose how many members a body has. Each call takes linear time, so none needs a
// time limit; a search per member would take minutes.
func TestManyMembersEverywhere(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	object, texts := manyOf("{}", `"m%06d":1`, bodyMembers), manyOf("[]", `"m%06d"`, bodyMembers)
	raise := func(id, approval string) string {
		made := w.post("/v1/runs", `{"run_id":"`+id+`","session_id":"s-`+id+`","agent_id":"default","input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x",`+approval+`}],
			"questions":[{"id":"q","tool_call_id":"d","questions":[{"id":"x","question":"which?","options":[]}]}]}}`)
		return first(t, `"handle":"([^"]+)"`, made)
	}
	handle := raise("run", `"input":{}`)
	fence := first(t, `"fence":"([^"]+)"`, w.post("/v1/runs", `{"run_id":"held","session_id":"held","input":1,"claim":{"worker_id":"w"}}`))
	short := func(item string, n int) string { return manyOf("[]", item, n) }
	bodies := []struct{ path, body string }{
		{"/v1/runs", `{"input":` + object + `}`},
		{"/v1/runs", `{"input":` + texts + `}`},
		{"/v1/runs", `{"input":1,"metadata":` + object + `}`},
		{"/v1/runs", object},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":` + object + `}]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":1,"metadata":` + object + `}]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":1,"pattern_keys":` + texts + `}]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":1,"sensitive_paths":` + texts + `}]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":1,"input_schema":` + object + `}]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":1,"input_schema":{"enum":` + texts + `}}]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":1,"input_schema":{"required":` + texts + `}}]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":1,` + object[1:] + `]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"approvals":` + short(`{"id":"a%06d"}`, 50_000) + `}}`},
		{"/v1/runs", `{"input":1,"suspend":{"questions":[{"id":"q","tool_call_id":"c","questions":` + short(`{"id":"q%06d"}`, 50_000) + `}]}}`},
		{"/v1/runs", `{"input":1,"suspend":{"questions":[{"id":"q","tool_call_id":"c","questions":[{"id":"x","question":"?","options":` + short(`{"id":"%06d","label":"l"}`, 35_000) + `}]}]}}`},
		{"/v1/runs/held/events", `{"fence":"` + fence + `","events":` + short(`{"type":"t%d"}`, 50_000) + `}`},
		{"/v1/runs/held/events", `{"fence":"` + fence + `","events":[{"type":"t","payload":` + manyOf("{}", `"m%06d":1`, 40_000) + `}]}`},
		{"/v1/runs/held/heartbeat", `{"fence":"` + fence + `","checkpoint":` + object + `}`},
		{"/v1/runs/run/approvals", `{"resolutions":` + short(`{"request_id":"a%06d"}`, 35_000) + `}`},
		{"/v1/runs/run/approvals", `{"resolutions":[{"request_id":"b","behavior":"allow",` + object[1:] + `]}`},
		{"/v1/runs/run/questions", `{"resolution":{"request_id":"q","answers":` + short(`{"question_id":"a%06d"}`, 35_000) + `}}`},
		{"/v1/runs/run/questions", `{"resolution":{"request_id":"q","answers":[{"question_id":"x","selected_option_ids":` + texts + `}]}}`},
		{"/v1/runs/claim", `{"worker_id":"w","agent_ids":` + texts + `}`},
		{"/v1/rules", `{"tool_name":"x","match":{"params":` + manyOf("{}", `"m%06d":"x"`, 60_000) + `}}`},
		{"/v1/rules", `{"match":{"pattern_keys":` + texts + `}}`},
		{"/v1/rules/explain", `{"tool_name":"x","input":` + object + `}`},
		{"/v1/rules/explain", `{"tool_name":"x","input":1,"pattern_keys":` + texts + `}`},
		{"/v1/tokens", `{"name":"n","role":"agent","agent_ids":` + texts + `}`},
		{"/v1/tokens", `{"name":"n","role":"agent","session_prefixes":` + texts + `}`},
		{"/v1/webhooks", `{"url":"https://example.com/h","enabled":false,"events":` + texts + `}`},
		{"/v1/webhooks", `{"url":"https://example.com/h","enabled":false,"agent_ids":` + texts + `}`},
		{"/v1/grants/redeem", object},
		{"/api/approval/respond", object},
		{"/api/clarify/respond", object},
		{"/api/approvals/" + handle + "/decision", object},
		{"/api/tool-input/" + handle + "/decision", `{"decision":"accept","answers":` + manyOf("{}", `"m%06d":{}`, 60_000) + `}`},
		{"/run", `{"context":{"id":"r1"},"resume":` + object + `,"parent_id":"run"}`},
		{"/chat/relay/" + handle, `{"sessionId":"s","response":` + object + `}`},
		{"/chat", `{"model":"m","messages":` + texts + `}`},
		{"/chat", `{"model":"m","messages":[1],"permissions":{"deny":` + short(`{"toolCallId":"%d"}`, 35_000) + `}}`},
		{"/chat", `{"model":"m","messages":[1],"permissions":{"allowlist":[{"tool":"x","params":` + manyOf("{}", `"m%06d":"x"`, 60_000) + `}]}}`},
	}
	for _, one := range bodies {
		require.Less(t, len(one.body), 1<<20, one.path)
		began := time.Now()
		answer := w.call(http.MethodPost, one.path, one.body)
		took := time.Since(began)
		t.Logf("%4d ms %d %s %.110s", took.Milliseconds(), answer.Code, one.path, one.body)
		if !strings.HasSuffix(one.path, "/events") { // an append has a limit of its own
			require.NotEqual(t, http.StatusRequestEntityTooLarge, answer.Code, one.path)
		}
		require.Less(t, took, time.Minute, "%s %.120s", one.path, one.body)
	}
	// A large pending input is edited, and matched by a rule, one member at a time.
	raise("edited", `"input":`+object)
	w.post("/v1/runs/edited/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","updated_input":`+strings.ReplaceAll(object, ":1", ":2")+`}]}`)
}
