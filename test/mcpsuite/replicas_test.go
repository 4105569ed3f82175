//go:build unix && agents

package mcpsuite

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// result is the answer to a client's call.
type result struct {
	ResultType    string                     `json:"resultType"`
	TaskID        string                     `json:"taskId"`
	Status        string                     `json:"status"`
	InputRequests map[string]json.RawMessage `json:"inputRequests"`
	RequestState  string                     `json:"requestState"`
	Structured    struct {
		Status string `json:"status"`
	} `json:"structuredContent"`
	Result *result `json:"result"`
}

func (r *result) form(t *testing.T) string {
	t.Helper()
	require.Len(t, r.InputRequests, 1)
	for id := range r.InputRequests {
		return id
	}
	return ""
}

const (
	elicitation = `"elicitation":{}`
	parking     = elicitation + `,"extensions":{"io.modelcontextprotocol/tasks":{}}`
)

// call makes one stateless call. Several may run at once.
func call(service *rig.Process, capabilities, method, name, params string) (*result, string, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{` + capabilities + `}}}}`
	r, err := http.NewRequest(http.MethodPost, service.URL()+"/mcp?session=parked", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(header, value)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	var answer struct {
		Result *result `json:"result"`
	}
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return answer.Result, string(text), err
}

func must(t *testing.T, service *rig.Process, capabilities, method, name, params string) *result {
	t.Helper()
	answer, text, err := call(service, capabilities, method, name, params)
	require.NoError(t, err)
	require.NotNil(t, answer, text)
	return answer
}

func update(task, form, decision string) string {
	return `"taskId":"` + task + `","inputResponses":{"` + form + `":{"action":"accept","content":{"decision":"` + decision + `"}}}`
}

// TestATaskOutlivesTheReplicaThatMadeIt kills the replica that made a task, and a state, after the
// client has read it. Its signing key is gone with it.
func TestATaskOutlivesTheReplicaThatMadeIt(t *testing.T) {
	t.Parallel()
	replicas, _ := rig.StartReplicas(t, 2, rig.Options{Database: postgrestest.URL(t)})
	first, second := replicas[0], replicas[1]
	const approval = `"name":"request_approval","arguments":{"tool_name":"deploy","input":{}}`
	start := func() (task, form string) {
		made := must(t, first, parking, "tools/call", "request_approval", approval)
		require.Equal(t, "task", made.ResultType)
		return made.TaskID, must(t, first, parking, "tasks/get", made.TaskID, `"taskId":"`+made.TaskID+`"`).form(t)
	}
	get := func(service *rig.Process, task string) *result {
		return must(t, service, parking, "tasks/get", task, `"taskId":"`+task+`"`)
	}

	task, form := start()
	first.Kill()
	require.Equal(t, "input_required", get(second, task).Status)
	require.Equal(t, "complete", must(t, second, parking, "tasks/update", task, update(task, form, "allow")).ResultType)
	require.Equal(t, "allowed", get(second, task).Result.Structured.Status)
	first.Resume()
	require.Equal(t, "allowed", get(first, task).Result.Structured.Status)

	// The state of a call, the same way.
	asked := must(t, first, elicitation, "tools/call", "request_approval", approval)
	require.Equal(t, "input_required", asked.ResultType)
	first.Kill()
	done := must(t, second, elicitation, "tools/call", "request_approval", approval+`,"requestState":"`+asked.RequestState+
		`","inputResponses":{"`+asked.form(t)+`":{"action":"accept","content":{"decision":"deny"}}}`)
	require.Equal(t, "denied", done.Structured.Status)
	first.Resume()

	// Two decide at once, each at its replica: one is on record, and both are told that one.
	task, form = start()
	var clicks sync.WaitGroup
	for i, decision := range []string{"allow", "deny"} {
		clicks.Go(func() {
			answer, text, err := call(replicas[i], parking, "tasks/update", task, update(task, form, decision))
			if err != nil || answer == nil || answer.ResultType != "complete" {
				t.Errorf("%v %s", err, text)
			}
		})
	}
	clicks.Wait()
	told := get(first, task).Result.Structured.Status
	require.Contains(t, []string{"allowed", "denied"}, told)
	require.Equal(t, told, get(second, task).Result.Structured.Status)
	decisions, err := second.Connect().ListDecisions(t.Context(), client.DecisionListParams{})
	require.NoError(t, err)
	require.Len(t, decisions.Items, 3)
	require.Equal(t, api.Outcome(told), decisions.Items[0].Resolution.Outcome)
	require.Equal(t, "api:mcp", decisions.Items[0].Resolution.Via)

	// Given up at both.
	task, _ = start()
	for _, service := range replicas {
		require.Equal(t, "complete", must(t, service, parking, "tasks/cancel", task, `"taskId":"`+task+`"`).ResultType)
	}
	require.Equal(t, "cancelled", get(second, task).Status)

	// A body that is too large, and one that is mostly names, change nothing.
	task, form = start()
	_, text, _ := call(second, parking, "tasks/update", task, update(task, form, "allow")+`,"x":"`+strings.Repeat("x", 2<<20)+`"`)
	require.Contains(t, text, "exceeds 1048576 bytes")
	var many bytes.Buffer
	for i := range 20_000 {
		many.WriteString(`"k` + strconv.Itoa(i) + `":1,`)
	}
	_, _, err = call(second, parking, "tasks/update", task, `"taskId":"`+task+`","inputResponses":{`+strings.TrimSuffix(many.String(), ",")+`}`)
	require.NoError(t, err)
	require.Equal(t, "input_required", get(second, task).Status)
}
