package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// bareFrame is as large as a frame of holdpoint.
var bareFrame = []byte("id: 3\nevent: delta\ndata: " + `{"id":"3","timestamp_ms":1750000000000,"run_id":"r","session_id":"all",` +
	`"agent_id":"default","event":{"type":"delta"}}` + "\n\n")

// sessionPlan has many subscribers of one session, and a few of each of many others. The event is
// in the former.
func sessionPlan(o options) plan {
	return plan{
		paths: func() []string {
			paths := make([]string, o.subscribers)
			for i := range paths {
				paths[i] = "/v1/sessions/all/stream"
				if i >= o.together {
					paths[i] = fmt.Sprintf("/v1/sessions/s%d/stream", (i-o.together)/perSession)
				}
			}
			return paths
		},
		prepare: func(ctx context.Context, s *server) error {
			for i := range (o.subscribers - o.together + perSession - 1) / perSession {
				if err := s.post(ctx, "/v1/sessions", fmt.Sprintf(`{"session_id":"s%d"}`, i)); err != nil {
					return err
				}
			}
			return s.post(ctx, "/v1/runs", `{"session_id":"all","run_id":"r","input":1,"claim":{"worker_id":"w","lease_ms":3600000}}`)
		},
		send: func(ctx context.Context, s *server) error {
			return s.post(ctx, "/v1/runs/r/events", `{"fence":"1","events":[{"type":"delta"}]}`)
		},
	}
}

// inboxPlan has subscribers of the inbox. The event is a prompt.
func inboxPlan(o options) plan {
	return plan{
		paths: func() []string {
			paths := make([]string, o.subscribers)
			for i := range paths {
				paths[i] = "/v1/stream"
			}
			return paths
		},
		prepare: func(context.Context, *server) error { return nil },
		send: func(ctx context.Context, s *server) error {
			return s.post(ctx, "/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":1}]}}`)
		},
	}
}

// withOneSlow measures a thousand readers of large events, alternately with and without another one
// that reads nothing.
func (o *options) withOneSlow(ctx context.Context) error {
	const readers, turns, events = 1000, 4, 25
	s, err := startHoldpoint(ctx, o.program, "")
	if err != nil {
		return err
	}
	defer s.stop()
	few := options{subscribers: readers, together: readers}
	p := sessionPlan(few)
	if err := p.prepare(ctx, s); err != nil {
		return err
	}
	if err := s.subscribe(ctx, p.paths()); err != nil {
		return err
	}
	text := strings.Repeat("x", 20_000)
	took := map[bool][]time.Duration{}
	for turn := range 2 * turns {
		slow := turn%2 == 1
		if slow {
			silent, err := open(ctx, s.address, "/v1/sessions/all/stream", 4096)
			if err != nil {
				return err
			}
			defer silent.Close()
		}
		for range events {
			reach, err := s.reach(ctx, readers, func(ctx context.Context, s *server) error {
				return s.post(ctx, "/v1/runs/r/events", `{"fence":"1","events":[{"type":"delta","text":"`+text+`"}]}`)
			})
			if err != nil {
				return err
			}
			took[slow] = append(took[slow], reach)
		}
		if slow {
			// Until it has been cut off.
			time.Sleep(11 * time.Second)
		}
	}
	fmt.Fprintf(o.out, "one slow reader among %d: events of %d bytes to all the others\n", readers, len(text))
	fmt.Fprintf(o.out, "  without    %s\n  with       %s\n", spread(took[false]), spread(took[true]))
	return nil
}

// acrossReplicas measures how long an event takes from a call at one replica to a subscriber at
// another, without load.
func (o *options) acrossReplicas(ctx context.Context) error {
	writes, err := startHoldpoint(ctx, o.program, o.replicas)
	if err != nil {
		return err
	}
	defer writes.stop()
	few := options{subscribers: 1, together: 1}
	for name, p := range map[string]plan{"a session": sessionPlan(few), "the inbox": inboxPlan(few)} {
		reads, err := startHoldpoint(ctx, o.program, o.replicas)
		if err != nil {
			return err
		}
		defer reads.stop()
		if err := p.prepare(ctx, writes); err != nil {
			return err
		}
		if err := reads.subscribe(ctx, p.paths()); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		var took []time.Duration
		for range 500 {
			time.Sleep(20 * time.Millisecond)
			reach, err := reads.reach(ctx, 1, func(ctx context.Context, _ *server) error { return p.send(ctx, writes) })
			if err != nil {
				return err
			}
			took = append(took, reach)
		}
		fmt.Fprintf(o.out, "%s at another replica, from the call that makes the event: %s\n", name, spread(took))
	}
	return nil
}
