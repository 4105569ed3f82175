package faces

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// testPayloads sends data that only one face accepts, and checks that the worker receives it: in
// its claim, while attached, and as a child that asked.
func testPayloads(t *testing.T, s *inProcess) {
	for name, one := range map[string]struct {
		asked Asked
		// send returns the path and body for a prompt.
		send func(Prompt) (path, body string)
		want string
	}{
		"codex, for the session": {Asked{Kind: Approval}, codexSays(`{"decision":"accept","scope":"session"}`), `{"decision":"acceptForSession"}`},
		"codex, a decline":       {Asked{Kind: Approval}, codexSays(`{"decision":"decline"}`), `{"decision":"decline"}`},
		"codex, by the old protocol": {
			Asked{Kind: Approval, With: map[string]any{"metadata": map[string]any{"method": "execCommandApproval"}}},
			codexSays(`{"decision":"accept"}`), `{"decision":"approved"}`,
		},
		"codex, answers":         {Asked{Kind: Choice}, codexSays(`{"decision":"accept","answers":{"way":{"answers":["Left"]},"extra":{"answers":["kept"]}}}`), `{"answers":{"way":{"answers":["Left"]},"extra":{"answers":["kept"]}}}`},
		"codex, a response":      {Asked{Kind: Several}, codexSays(`{"decision":"accept","response":{"any":["thing",1]}}`), `{"any":["thing",1]}`},
		"codex, a null":          {Asked{Kind: Choice}, codexSays(`{"decision":"accept","response":null}`), `null`},
		"codex, no answer":       {Asked{Kind: Typed}, codexSays(`{"decision":"decline"}`), `{"status":"decline"}`},
		"codex, to a child":      {Asked{Kind: Clarification}, codexSays(`{"decision":"accept","response":{"go":"left"}}`), `{"go":"left"}`},
		"codex, no to a child":   {Asked{Kind: Clarification}, codexSays(`{"decision":"cancel"}`), `{"status":"cancel"}`},
		"timbal, with its audit": {Asked{Kind: Approval}, timbalSays(`{"approved":true,"comment":"fine","approver_id":"ada"}`), `{"approved":true,"comment":"fine","approver_id":"ada"}`},
		"timbal, no text":        {Asked{Kind: Choice}, timbalSays(`{"selected":["Left"]}`), `{"selected":["Left"]}`},
	} {
		for _, hold := range []bool{false, true} {
			if hold && one.asked.Kind == Clarification {
				continue
			}
			t.Run(fmt.Sprintf("%s, hold %t", name, hold), func(t *testing.T) {
				t.Parallel()
				r := &race{Scene: s.begin(t), s: s, kind: one.asked.Kind}
				asked := one.asked
				asked.ID = "first"
				var err error
				if r.kind == Clarification {
					r.prompt, r.child, err = r.Ask(rig.Soon(t), asked)
				} else {
					var prompts []Prompt
					prompts, _, err = r.Raise(rig.Soon(t), hold, asked)
					r.prompt = prompts[0]
				}
				require.NoError(t, err)
				path, body := one.send(r.prompt)
				if path == "/stream" {
					// Reading to the end would take the rest of the run.
					got, err := Timbal{}.Resume(rig.Soon(t), s.Service, r.RunID, map[string]any{r.prompt.Handle: jsontext.Value(body)})
					require.NoError(t, err)
					require.True(t, Timbal{}.Took(got), "%s", got.Body)
				} else {
					r.post(t, path, jsontext.Value(body))
				}
				recorded := r.fate(t).recorded
				require.Equal(t, one.want, string(recorded.RuntimePayload))
				if r.child != nil {
					claim, err := r.child.Take(rig.Soon(t))
					require.NoError(t, err)
					require.Equal(t, one.want, string(claim.Resume.Clarification.RuntimePayload))
					return
				}
				require.Equal(t, []Resolution{recorded}, r.taken(rig.Soon(t), t))
				// The one face that shows payloads also sends it to followers.
				frame, err := r.Chat.Await(rig.Soon(t), func(f Frame) bool { return f.ID == r.prompt.Handle && f.Resolution != nil })
				require.NoError(t, err)
				require.Contains(t, string(frame.Resolution), `"runtime_payload":`+one.want)
			})
		}
	}
}

func codexSays(body string) func(Prompt) (string, string) {
	return func(about Prompt) (string, string) {
		if about.Kind == Approval {
			return "/api/approvals/" + about.Handle + "/decision", body
		}
		return "/api/tool-input/" + about.Handle + "/decision", body
	}
}

func timbalSays(value string) func(Prompt) (string, string) {
	return func(Prompt) (string, string) { return "/stream", value }
}
