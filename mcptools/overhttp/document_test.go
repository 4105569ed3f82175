package overhttp_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
)

// TestTheDocument makes the calls of docs/mcp.md and compares the replies. Words in capitals stand
// for varying values.
func TestTheDocument(t *testing.T) {
	s := serve(t, auth.None)
	page, err := os.ReadFile("../../docs/mcp.md")
	require.NoError(t, err)
	known := map[string]string{}
	block := func(name string) string {
		found := regexp.MustCompile("(?s)<!-- test:" + name + " -->\n```json\n(.*?)```").FindSubmatch(page)
		require.NotNil(t, found, name)
		text := string(found[1])
		for word, value := range known {
			text = strings.ReplaceAll(text, `"`+word+`"`, `"`+value+`"`)
		}
		return text
	}
	do := func(query, text string) any {
		var call struct {
			Method string                     `json:"method"`
			Params map[string]json.RawMessage `json:"params"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &call), text)
		name := call.Params["name"]
		if name == nil {
			name = call.Params["taskId"]
		}
		status, reply := s.post("", query, call.Method, strings.Trim(string(name), `"`), text)
		require.Equal(t, 200, status, reply)
		var said any
		require.NoError(t, json.Unmarshal([]byte(reply), &said))
		delete(said.(map[string]any)["result"].(map[string]any), "_meta") // the server's name
		return said
	}
	// same compares values, and records the values of words in capitals.
	var same func(shown, said any)
	same = func(shown, said any) {
		switch shown := shown.(type) {
		case map[string]any:
			said, is := said.(map[string]any)
			require.True(t, is)
			require.Len(t, said, len(shown), "%v\n%v", shown, said)
			for name, value := range shown {
				if name == "HANDLE" {
					for id := range said {
						known[name], name = id, id
					}
				}
				require.Contains(t, said, name)
				same(value, said[name])
			}
		case []any:
			require.Len(t, said, len(shown))
			for i := range shown {
				same(shown[i], said.([]any)[i])
			}
		case string:
			text, is := said.(string)
			require.True(t, is)
			if shown != "" && shown == strings.ToUpper(shown) && !strings.Contains(shown, " ") && shown != "2.0" {
				known[shown] = text
				return
			}
			require.Equal(t, shown, text)
		default:
			require.Equal(t, shown, said)
		}
	}
	compare := func(name string, said any) {
		var shown any
		require.NoError(t, json.Unmarshal([]byte(block(name)), &shown))
		same(shown, said)
	}
	person := s.person()
	pending := func() api.PendingApprovalView {
		page, err := person.ListApprovals(t.Context(), client.PendingListParams{})
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		return page.Items[0]
	}

	compare("call-reply", do("", block("call")))
	open := pending()
	_, err = person.ResolveRunApprovals(t.Context(), open.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{
		RequestID: open.Request.ID, Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"to":"staging"}`),
	}}})
	require.NoError(t, err)
	compare("get-reply", do("", block("get")))

	first := strings.Replace(block("call"), `"extensions": {"io.modelcontextprotocol/tasks": {}}`, `"elicitation": {}`, 1)
	compare("form-reply", do("", strings.Replace(first, `"id": 1`, `"id": 3`, 1)))
	require.Equal(t, known["HANDLE"], pending().Request.Handle)
	done := do("", block("again")).(map[string]any)["result"].(map[string]any)
	require.Equal(t, "allowed", done["structuredContent"].(map[string]any)["status"])

	// The address is the one of the call.
	clear(known)
	linked := do("", strings.Replace(strings.Replace(first, `"id": 1`, `"id": 5`, 1), `"elicitation": {}`, `"elicitation": {"url": {}}`, 1))
	known["http://127.0.0.1:4000/?prompt=HANDLE"] = s.url + "/?prompt=" + pending().Request.Handle
	compare("link-reply", linked)
	require.Equal(t, known["HANDLE"], pending().Request.Handle)
}
