package gallery

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/faces"
	"github.com/holdpoint/holdpoint/test/rig"
)

// TestGallery07and08ReconnectOnEveryFace is lines 7 and 8 on the faces without replay. After a
// reconnect, to this process or to one started after a kill -9, they show everything open and
// nothing settled. Prompts shown before can still be decided by the same id.
func TestGallery07and08ReconnectOnEveryFace(t *testing.T) {
	rig.Databases(t, func(t *testing.T, url string) {
		p := serve(t, url)
		held := scene(t, facesAt(t, p.URL()))
		var asked []faces.Asked
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			asked = append(asked, faces.Asked{Kind: faces.Approval, ID: "approval-" + id})
		}
		for _, id := range []string{"a", "b", "c", "d"} {
			asked = append(asked, faces.Asked{Kind: faces.Choice, ID: "question-" + id})
		}
		prompts := raise(t, held, asked...)
		approvals, questions := prompts[:5], prompts[5:]
		requireReconnected(t, facesAt(t, p.URL()), held, approvals, questions)

		answer := faces.Decision{Verb: faces.Answer, Answers: []string{"Left"}}
		for _, step := range []struct {
			byApproval, byQuestion faces.Face
		}{
			{faces.Native{}, faces.Hermes{}}, {faces.Relay{}, faces.Codex{}}, {faces.Hermes{}, faces.Timbal{}}, {faces.Codex{}, faces.Native{}},
		} {
			s := facesAt(t, p.URL())
			say(t, s, step.byApproval, approvals[0], allow, true)
			say(t, s, step.byQuestion, questions[0], answer, true)
			approvals, questions = approvals[1:], questions[1:]
			requireReconnected(t, s, held, approvals, questions)
			p.Kill()
			p.Resume()
			requireReconnected(t, facesAt(t, p.URL()), held, approvals, questions)
		}
		held.Service = facesAt(t, p.URL())
		say(t, held.Service, faces.Timbal{}, approvals[0], allow, true)
		requireReconnected(t, held.Service, held, nil, nil)
		require.Len(t, took(t, held), 9)
		require.NoError(t, held.Complete(rig.Soon(t)))
		p.Kill()
		rig.RequireHealthy(t, url)
	})
}

// requireReconnected reopens everything that shows open prompts.
func requireReconnected(t *testing.T, s *faces.Service, held *faces.Scene, approvals, questions []faces.Prompt) {
	t.Helper()
	about := faces.Prompt{SessionID: held.SessionID, RunID: held.RunID}
	handles := func(prompts []faces.Prompt) []string {
		var all []string
		for _, prompt := range prompts {
			all = append(all, prompt.Handle)
		}
		return all
	}
	all := append(handles(approvals), handles(questions)...)
	for _, face := range faces.All() {
		if face.Traits().InChat {
			continue // its stream has ended, and its relays are decided
		}
		want := all
		if face.Traits().OldestOnly {
			want = append(handles(approvals[:min(1, len(approvals))]), handles(questions[:min(1, len(questions))])...)
		}
		shown, err := face.Open(rig.Soon(t), s, about)
		require.NoError(t, err)
		require.ElementsMatch(t, want, shown, face.Name())
	}
	requireFirst := func(path, event string, want []string, count string) {
		t.Helper()
		stream, err := s.Follow(rig.Soon(t), path)
		require.NoError(t, err)
		defer stream.Close()
		name, data, err := stream.Next()
		require.NoError(t, err)
		require.Equal(t, event, name)
		for _, handle := range want {
			require.Contains(t, data, handle)
		}
		require.Contains(t, data, count)
		for _, handle := range handlesIn(data) {
			require.Contains(t, want, handle, "it is settled: %s", path)
		}
	}
	requireFirst("/v1/stream", "snapshot", all, "")
	requireFirst("/v1/sessions/"+held.SessionID+"/stream", "snapshot", all, "")
	for _, queue := range []struct {
		name    string
		prompts []faces.Prompt
	}{{"approval", approvals}, {"clarify", questions}} {
		requireFirst("/api/"+queue.name+"/stream?session_id="+held.SessionID, "initial",
			handles(queue.prompts[:min(1, len(queue.prompts))]), `"pending_count":`+string(rune('0'+len(queue.prompts))))
	}
}

// handlesIn returns the handles in a message.
func handlesIn(data string) []string {
	var all []string
	for _, part := range strings.Split(data, `"`) {
		if strings.HasPrefix(part, "request_") && part != "request_id" && part != "request_ids" {
			all = append(all, part)
		}
	}
	return all
}
