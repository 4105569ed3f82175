package gallery

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// inbox is what a follower of a stream shows: the open prompts.
type inbox struct {
	open map[string]bool
	last string
}

func (b *inbox) see(t *testing.T, seen client.StreamEvent) {
	t.Helper()
	b.last = seen.ID
	switch {
	case seen.Session != nil:
		b.show(seen.Session.PendingApprovals)
	case seen.Run != nil:
		b.show(seen.Run.PendingApprovals)
	case seen.Event != nil:
		var event struct {
			Type        string           `json:"type"`
			RequestIDs  []string         `json:"request_ids"`
			Resolutions []api.Resolution `json:"resolutions"`
		}
		require.NoError(t, json.Unmarshal(seen.Event.Event, &event))
		if event.Type == "waiting_for_approval" {
			for _, id := range event.RequestIDs {
				b.open[id] = true
			}
		}
		for _, settled := range event.Resolutions {
			delete(b.open, settled.RequestID)
		}
	}
}

func (b *inbox) show(pending []api.ApprovalRequest) {
	b.open = map[string]bool{}
	for i := range pending {
		b.open[pending[i].ID] = true
	}
}

func (b *inbox) shown() []string { return slices.Sorted(maps.Keys(b.open)) }

// following reads a stream step by step, for the duration of the test.
type following struct {
	t    *testing.T
	next func() (client.StreamEvent, error, bool)
}

func follow(t *testing.T, stream iter.Seq2[client.StreamEvent, error]) *following {
	t.Helper()
	next, stop := iter.Pull2(stream)
	t.Cleanup(stop)
	return &following{t, next}
}

func (f *following) see(into *inbox) client.StreamEvent {
	f.t.Helper()
	seen, err, more := f.next()
	require.NoError(f.t, err)
	require.True(f.t, more, "the stream ended")
	into.see(f.t, seen)
	return seen
}

// The bug: a prompt was announced before it was stored, and a quick approver got "not found". Here
// each prompt is decided as soon as it is seen on a stream, on any replica.
func TestGallery05WhoSeesAPromptCanDecideIt(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		for round := range 30 {
			runID := fmt.Sprintf("run-%d", round)
			session := "session-of-" + runID
			_, err := s.at(0).CreateSession(rig.Soon(t), client.CreateSessionParams{SessionID: session, AgentID: runID})
			require.NoError(t, err)
			var approver inbox
			stream := follow(t, s.at(1+round).StreamSession(rig.Soon(t), session, ""))
			stream.see(&approver)
			require.Empty(t, approver.shown())
			raised := make(chan error, 1)
			go func() {
				_, err := s.at(0).CreateRun(rig.Soon(t), client.CreateRunParams{
					RunID: runID, SessionID: session, AgentID: runID, Input: "work", Suspend: rig.Approvals("deploy"),
				})
				raised <- err
			}()
			for len(approver.open) == 0 {
				stream.see(&approver)
			}
			_, err = s.at(2+round).ResolveRunApprovals(rig.Soon(t), runID, decide("deploy", api.BehaviorAllow))
			require.NoError(t, err, "it was seen before it was there")
			require.NoError(t, <-raised)
			for len(approver.open) > 0 {
				stream.see(&approver)
			}
		}
	})
}

// The bug: a resolved prompt was shown again after a reconnect with Last-Event-ID. Here the stream
// is cut after every single event, and a reader that resumes there ends up with exactly the open
// prompts, on the session's stream and on the run's.
func TestGallery07ReconnectShowsNoSettledPrompt(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		held := startedRun(t, s.at(0), "run")
		for _, id := range []string{"first", "second"} {
			_, err := s.at(0).Suspend(rig.Soon(t), "run", held.Lease.Fence, *rig.Approvals(id))
			require.NoError(t, err)
			_, err = s.at(1).ResolveRunApprovals(rig.Soon(t), "run", decide(id, api.BehaviorDeny))
			require.NoError(t, err)
			held = mustClaim(t, s.at(1), "run")
		}
		_, err := s.at(0).Suspend(rig.Soon(t), "run", held.Lease.Fence, *rig.Approvals("open"))
		require.NoError(t, err)
		session, err := s.at(0).GetSession(rig.Soon(t), "session-of-run")
		require.NoError(t, err)

		for _, streamOf := range []func(at int, after string) iter.Seq2[client.StreamEvent, error]{
			func(at int, after string) iter.Seq2[client.StreamEvent, error] {
				return s.at(at).StreamSession(rig.Soon(t), "session-of-run", after)
			},
			func(at int, after string) iter.Seq2[client.StreamEvent, error] {
				return s.at(at).StreamRun(rig.Soon(t), "run", after)
			},
		} {
			var fresh inbox
			follow(t, streamOf(1, "")).see(&fresh)
			require.Equal(t, []string{"open"}, fresh.shown())
			newest := fresh.last
			require.True(t, strings.HasPrefix(newest, session.LastEventID+"."), newest)

			for cut := 0; ; cut++ {
				reconnecting := inbox{open: map[string]bool{}, last: "0"}
				before := follow(t, streamOf(0, "0"))
				for range cut {
					before.see(&reconnecting)
				}
				if reconnecting.last == newest {
					require.Equal(t, []string{"open"}, reconnecting.shown())
					require.Greater(t, cut, 8, "the log must have had something to replay")
					break
				}
				after := follow(t, streamOf(1, reconnecting.last))
				for reconnecting.last != newest {
					seen := after.see(&reconnecting)
					require.NotNil(t, seen.Event, "no snapshot is sent to who goes on")
				}
				require.Equal(t, []string{"open"}, reconnecting.shown(), "cut after %d events", cut)
			}
		}
	})
}

// The bug: a page reload lost the pending prompt, and the run was stuck until the process
// restarted. Here every snapshot after a reconnect or a kill -9 contains every open prompt, and
// open streams resume by themselves.
func TestGallery08SnapshotHoldsEveryOpenPrompt(t *testing.T) {
	rig.Databases(t, func(t *testing.T, url string) {
		p := serve(t, url)
		waitingRun(t, p.client, "run", rig.Approvals("one", "two", "three"))
		var open inbox
		lasting := follow(t, p.client.StreamSession(rig.Soon(t), "session-of-run", ""))
		lasting.see(&open)
		require.Equal(t, []string{"one", "three", "two"}, open.shown())
		_, err := p.client.ResolveRunApprovals(rig.Soon(t), "run", decide("two", api.BehaviorAllow))
		require.NoError(t, err)

		want := []string{"one", "three"}
		for range 2 {
			for range 3 {
				requireShown(t, p.client, want)
			}
			p.Kill()
			p.Resume()
			requireShown(t, p.client, want)
		}
		for _, id := range want {
			_, err := p.client.ResolveRunApprovals(rig.Soon(t), "run", decide(id, api.BehaviorAllow))
			require.NoError(t, err)
		}
		settled := 0
		for len(open.open) > 0 {
			seen := lasting.see(&open)
			require.NotNil(t, seen.Event, "it goes on where it was")
			settled++
		}
		require.GreaterOrEqual(t, settled, 3)
		held := mustClaim(t, p.client, "run")
		require.Len(t, held.Resume.Approvals, 3)
		complete(t, p.client, held)
		p.Kill()
		rig.RequireHealthy(t, url)
	})
}

// requireShown reopens both streams and checks their snapshots.
func requireShown(t *testing.T, c *client.Client, want []string) {
	t.Helper()
	for _, stream := range []iter.Seq2[client.StreamEvent, error]{
		c.StreamSession(rig.Soon(t), "session-of-run", ""), c.StreamRun(rig.Soon(t), "run", ""),
	} {
		var fresh inbox
		for seen, err := range stream {
			require.NoError(t, err)
			fresh.see(t, seen)
			break
		}
		require.Equal(t, want, fresh.shown())
	}
}
