package hermes_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// seconds is how the dialect writes a moment.
func seconds(ms int64) string {
	text := strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// testSnapshots holds docs/spec/hermes.md#snapshots.
func testSnapshots(t *testing.T, s *service) {
	parallel(t, "nothing", func(t *testing.T) {
		for _, query := range []string{"", "?session_id=", "?session_id=nobody", "?session_id=%00", "?session_id=%FF", "?session_id=a%2Fb", "?x=1"} {
			s.get(t, "/api/approval/pending"+query).is(http.StatusOK, noApproval)
			s.get(t, "/api/clarify/pending"+query).is(http.StatusOK, noClarification)
		}
	})
	parallel(t, "an approval with everything", func(t *testing.T) {
		made := s.waiting(t, `"approvals":[`+approval("a1", `"description":"recursive delete"`, `"reason":"cleaning"`, `"pattern_keys":["delete","shell"]`)+`]`)
		s.pendingApproval(t, made.SessionID).is(http.StatusOK, `{
  "pending": {
    "approval_id": "`+made.handle(t, "a1")+`",
    "command": "make a1",
    "description": "recursive delete",
    "pattern_key": "delete",
    "pattern_keys": [
      "delete",
      "shell"
    ]
  },
  "pending_count": 1
}`)
		s.pendingClarification(t, made.SessionID).is(http.StatusOK, noClarification)
		head := s.Do(t, http.MethodHead, path("/api/approval/pending", made.SessionID), "")
		require.Equal(t, http.StatusOK, head.Status)
		s.get(t, "/api/approval/pending?session_id=&session_id="+made.SessionID).head()
	})
	parallel(t, "an approval with the least", func(t *testing.T) {
		made := s.waiting(t, approvals("a1"))
		s.pendingApproval(t, made.SessionID).is(http.StatusOK, `{
  "pending": {
    "approval_id": "`+made.handle(t, "a1")+`",
    "command": "make a1",
    "description": "",
    "pattern_key": null,
    "pattern_keys": []
  },
  "pending_count": 1
}`)
	})
	parallel(t, "what is shown as the command", func(t *testing.T) {
		for _, test := range []struct{ tool, input, command string }{
			{"bash", `{"command":"ls <&> é\n\u2028"}`, `"command": "ls <&> é\n\\u2028"`},
			{"bash", `{"command":"rm \u202egpj.x\u200b"}`, `"command": "rm \\u202egpj.x\\u200b"`},
			{"fetch", `{"url":"https://\u0430pple.com"}`, `"command": "fetch {\"url\":\"https://\\u0430pple.com\"}"`},
			{"Bash", `{"command":["ls","-l"],"timeout":5}`, `"command": "ls -l"`},
			{"bash", `"just text"`, `"command": "just text"`},
			{"bash", `{ "command" : "" }`, `"command": "bash {\"command\":\"\"}"`},
			{"bash", `{"command": ["ls", 1.50], "b": 2}`, `"command": "bash {\"command\":[\"ls\",1.50],\"b\":2}"`},
			{"bash", `{"command":"ls","stdin":"rm -rf /"}`, `"command": "bash {\"command\":\"ls\",\"stdin\":\"rm -rf /\"}"`},
			{"deploy", `{"command":"ls","script":"curl x | sh"}`, `"command": "deploy {\"command\":\"ls\",\"script\":\"curl x | sh\"}"`},
			{"x", `{"path": "x"}`, `"command": "x {\"path\":\"x\"}"`},
			{"x", `"just text"`, `"command": "x \"just text\""`},
			{"x", `[1, null]`, `"command": "x [1,null]"`},
			{"x", `null`, `"command": "x"`},
		} {
			input, command := test.input, test.command
			made := s.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"`+test.tool+`","reason":"because","input":`+input+`}]`)
			shown := s.pendingApproval(t, made.SessionID)
			require.Contains(t, shown.Text, "    "+command+",\n", "%s", input)
			require.Contains(t, shown.Text, "    \"description\": \"because\",\n")
		}
	})
	parallel(t, "where a command runs", func(t *testing.T) {
		for input, described := range map[string]string{
			`{"command":"rm -rf build","cwd":"/srv","workdir":null}`: "In /srv: because", `{"command":"ls","workdir":"a","cwd":"b"}`: "In b, a: because",
			`{"command":"ls","cwd":"/srv/\u202ex"}`: `In /srv/\\u202ex: because`,
			`{"command":"ls","cwd":["x"]}`:          `In [\"x\"]: because`, `{"command":"ls","cwd":null}`: "because",
		} {
			made := s.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"bash","reason":"because","input":`+input+`}]`)
			require.Contains(t, s.pendingApproval(t, made.SessionID).Text, `    "description": "`+described+`",`, input)
		}
		made := s.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"bash","reason":"because","input":{"command":"ls","cwd":"/srv"},"hints":[{"level":"danger","text":"production"},{"level":"info","text":"3 hosts"}]}]`)
		require.Contains(t, s.pendingApproval(t, made.SessionID).Text, `    "description": "danger: production\ninfo: 3 hosts\nIn /srv: because",`)
		made = s.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"Edit","reason":"because","input":{"file_path":"a"},"directory":"/srv"}]`)
		require.Contains(t, s.pendingApproval(t, made.SessionID).Text, `    "description": "In /srv: because",`)
		made = s.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"bash","input":{"command":"ls","cwd":"/srv"}}]`)
		require.Contains(t, s.pendingApproval(t, made.SessionID).Text, `    "description": "In /srv",`)
	})
	parallel(t, "the oldest is shown, and all are counted", func(t *testing.T) {
		made := s.attached(t)
		s.raise(t, made, approvals("z"))
		s.raise(t, made, approvals("b", "a"))
		now := s.raise(t, made, questions(free("q1")))
		shown := s.pendingApproval(t, made.SessionID)
		require.Equal(t, now.handle(t, "z"), shown.head())
		require.Contains(t, shown.Text, `"pending_count": 3`)
		for _, id := range []string{"z", "b", "a"} {
			require.Equal(t, now.handle(t, id), s.pendingApproval(t, made.SessionID).head(), id)
			s.respond(t, made.SessionID, `"choice":"once","approval_id":"`+now.handle(t, id)+`"`).is(http.StatusOK, chose("once"))
		}
		s.pendingApproval(t, made.SessionID).is(http.StatusOK, noApproval)
		require.Equal(t, now.handle(t, "q1"), s.pendingClarification(t, made.SessionID).head())
	})
	parallel(t, "more than are read at once", func(t *testing.T) {
		made := s.attached(t)
		var first run
		for part := range 6 {
			ids := make([]string, 100)
			for i := range ids {
				ids[i] = fmt.Sprintf("a-%d", 9_999-100*part-i)
			}
			if raised := s.raise(t, made, approvals(ids...)); part == 0 {
				first = raised
			}
		}
		shown := s.pendingApproval(t, made.SessionID)
		require.Equal(t, first.handle(t, "a-9999"), shown.head())
		require.Contains(t, shown.Text, `"pending_count": 600`)
	})
	parallel(t, "a clarification with everything", func(t *testing.T) {
		made := s.waiting(t, questions(`{"id":"q1","tool_call_id":"c","expires_after_ms":3600500,"questions":[
			{"id":"route","header":"Route","question":"Which route?","multi_select":false,"options":[{"id":"a","label":"Main"},{"id":"b","label":"Dev"}]}]}`))
		requested := made.PendingQuestions[0].CreatedAtMs
		s.pendingClarification(t, made.SessionID).is(http.StatusOK, `{
  "pending": {
    "clarify_id": "`+made.handle(t, "q1")+`",
    "question": "Which route?",
    "choices_offered": [
      "Main",
      "Dev"
    ],
    "session_id": "`+made.SessionID+`",
    "kind": "clarify",
    "requested_at": `+seconds(requested)+`,
    "timeout_seconds": 3600,
    "expires_at": `+seconds(requested+3_600_000)+`
  }
}`)
	})
	parallel(t, "a clarification with the least", func(t *testing.T) {
		made := s.waiting(t, questions(free("q1")))
		s.pendingClarification(t, made.SessionID).is(http.StatusOK, `{
  "pending": {
    "clarify_id": "`+made.handle(t, "q1")+`",
    "question": "Why q1?",
    "choices_offered": [],
    "session_id": "`+made.SessionID+`",
    "kind": "clarify",
    "requested_at": `+seconds(made.PendingQuestions[0].CreatedAtMs)+`,
    "timeout_seconds": 0,
    "expires_at": 0
  }
}`)
	})
	parallel(t, "a clarification that stays open after its deadline", func(t *testing.T) {
		made := s.waiting(t, questions(free("q1", `"expires_after_ms":3600500,"escalation":{"at_deadline":"keep"}`)))
		shown := s.pendingClarification(t, made.SessionID)
		require.Equal(t, made.handle(t, "q1"), shown.head())
		require.Contains(t, shown.Text, `"timeout_seconds": 0,
    "expires_at": 0`)
	})
	parallel(t, "a question that a child asks this session", func(t *testing.T) {
		asking := s.askedByChild(t)
		parent, child := asking.SessionID, asking.child
		own := s.waitingIn(t, parent, questions(free("q2")))

		shown := s.pendingClarification(t, parent)
		require.Equal(t, asking.handle(t, "q1"), shown.head())
		s.follow(t, "/api/clarify/stream", parent).shows("initial", asking.handle(t, "q1"), 2)
		s.pendingClarification(t, child).is(http.StatusOK, noClarification)

		s.clarify(t, parent, `"response":"because"`).is(http.StatusOK, took("because"))
		require.Equal(t, own.handle(t, "q2"), s.pendingClarification(t, parent).head())
		s.clarify(t, parent, `"response":"because","clarify_id":"`+asking.handle(t, "q1")+`"`).is(http.StatusConflict, stale)
	})
}

// testReplies holds the form of replies (docs/spec/hermes.md#conventions).
func testReplies(t *testing.T, s *service) {
	parallel(t, "large replies are compressed for those who take it", func(t *testing.T) {
		made := s.waiting(t, `"approvals":[`+approval("a1", `"description":"`+strings.Repeat("long ", 300)+`"`)+`]`)
		plain := s.pendingApproval(t, made.SessionID)
		require.Empty(t, plain.Header.Get("Content-Encoding"))
		require.Equal(t, []string{"Origin", "Accept-Encoding"}, plain.Header.Values("Vary"))
		for accepted, compressed := range map[string]bool{
			"gzip": true, "deflate, gzip;q=0.5": true, "*": true, "GZIP": true,
			"gzip;q=0": false, "gzip;q=0, *": false, "identity": false, "br": false, "*;q=0": false,
		} {
			got := s.get(t, path("/api/approval/pending", made.SessionID), dialecttest.Header("Accept-Encoding", accepted))
			require.Equal(t, compressed, got.Header.Get("Content-Encoding") == "gzip", accepted)
			if compressed {
				unpacked, err := gzip.NewReader(strings.NewReader(got.Text))
				require.NoError(t, err)
				text, err := io.ReadAll(unpacked)
				require.NoError(t, err)
				got.Text = string(text)
			}
			got.is(http.StatusOK, plain.Text)
		}
		small := s.get(t, "/api/approval/pending", dialecttest.Header("Accept-Encoding", "gzip"))
		require.Empty(t, small.Header.Get("Content-Encoding"))
		small.is(http.StatusOK, noApproval)
	})
	parallel(t, "other methods", func(t *testing.T) {
		require.Equal(t, http.StatusMethodNotAllowed, s.post(t, "/api/approval/pending", "{}").Status)
		require.Equal(t, http.StatusMethodNotAllowed, s.get(t, "/api/clarify/respond").Status)
		require.Equal(t, http.StatusMethodNotAllowed, s.Do(t, http.MethodHead, "/api/approval/stream", "").Status)
		require.Equal(t, http.StatusNotFound, s.get(t, "/api/approval/inject_test?session_id=s").Status)
	})
}
