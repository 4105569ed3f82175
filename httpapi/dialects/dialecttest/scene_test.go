package dialecttest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// approval is a suspension with one approval.
const approval = `"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":{"command":"ls"}}]`

// asks creates a session whose run waits for one request.
func asks(t *testing.T, s *dialecttest.Service, session, suspension string) (run, handle string) {
	t.Helper()
	view := s.Post(t, "/v1/runs", `{"session_id":"`+session+`","input":{},"suspend":{`+suspension+`}}`).Want(http.StatusAccepted)
	for _, name := range []string{"pending_approvals", "pending_questions"} {
		if found, ok := view.At(name, 0, "handle").(string); ok {
			return view.TextAt("run_id"), found
		}
	}
	t.Fatalf("nothing is asked: %s", view.Text)
	return "", ""
}

func replacer(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }

// sessionOf reads the first frame of a chat.
func sessionOf(t *testing.T, chat *dialecttest.Stream) string {
	t.Helper()
	var connected struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal([]byte(chat.Frame().Data), &connected); err != nil {
		t.Fatal(err)
	}
	return connected.SessionID
}
