package faces

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// rounds is the number of races for each pair of faces on each engine. "make nightly" makes more.
func (s *inProcess) rounds(kind Kind) int {
	switch {
	case kind != Approval && kind != Choice, !storetest.Thorough && s.engine == "sqlite":
		return 2
	case !storetest.Thorough:
		return 3
	case s.engine == "sqlite":
		return 30
	default:
		return 6
	}
}

// testAtOnce makes each pair of faces decide the same prompt at once, many times. One decision is
// recorded, and the other gets the reply of the race table.
func testAtOnce(t *testing.T, s *inProcess) {
	pairs := 0
	for _, kind := range []Kind{Approval, Choice, Several, Typed, Clarification} {
		for i, one := range All() {
			for _, other := range All()[i:] {
				if len(one.Verbs(kind)) == 0 || len(other.Verbs(kind)) == 0 {
					continue
				}
				if pairs++; s.leaves(pairs) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s, %s", kind, one.Name(), other.Name()), func(t *testing.T) {
					t.Parallel()
					r := &race{Scene: s.begin(t), s: s, kind: kind}
					if kind == Clarification {
						for round := range s.rounds(kind) {
							r.roundOfChild(t, round, one, other)
						}
						return
					}
					r.Chat.Close()
					for round := range s.rounds(kind) {
						r.round(t, round, one, other)
					}
					for round := range s.rounds(kind) {
						recorded, err := r.Recorded(rig.Soon(t), r.RunID, fmt.Sprintf("round-%d", round))
						require.NoError(t, err)
						require.Len(t, recorded, 1)
					}
				})
				if kind != Clarification && (Can(one, kind, Stop) || Can(other, kind, Stop)) {
					t.Run(fmt.Sprintf("%s/%s, %s, one stops", kind, one.Name(), other.Name()), func(t *testing.T) {
						t.Parallel()
						for range 2 {
							r := &race{Scene: s.begin(t), s: s, kind: kind}
							r.stopping(t, one, other)
						}
					})
				}
			}
		}
	}
}

// said is one side's decision and its reply.
type said struct {
	name  string
	face  Face
	what  Decision
	reply Reply
	err   error
}

// together makes two decisions at once and returns the recorded one and the other.
func (r *race) together(ctx context.Context, t *testing.T, one, other said) (won, lost said) {
	t.Helper()
	both := []*said{&one, &other}
	start := make(chan struct{})
	var group sync.WaitGroup
	for _, who := range both {
		group.Go(func() {
			<-start
			who.reply, who.err = who.face.Decide(ctx, r.Service, r.prompt, who.what, As(who.face.Name()))
		})
	}
	close(start)
	group.Wait()
	require.NoError(t, one.err)
	require.NoError(t, other.err)
	require.NotEqual(t, one.face.Took(one.reply), other.face.Took(other.reply), "exactly one is taken: %s %s: %s; %s %s: %s",
		one.face.Name(), one.what.Verb, one.reply.Body, other.face.Name(), other.what.Verb, other.reply.Body)
	if one.face.Took(one.reply) {
		return one, other
	}
	return other, one
}

// plain returns a decision after which the run continues, a different one each round.
func plain(face Face, kind Kind, round int) Verb {
	var verbs []Verb
	for _, verb := range face.Verbs(kind) {
		if verb != Stop {
			verbs = append(verbs, verb)
		}
	}
	return verbs[round%len(verbs)]
}

// round is one race after which the run continues.
func (r *race) round(t *testing.T, round int, one, other Face) {
	t.Helper()
	ctx := rig.Soon(t)
	prompts, _, err := r.Raise(ctx, false, Asked{Kind: r.kind, ID: fmt.Sprintf("round-%d", round)})
	require.NoError(t, err)
	r.prompt = prompts[0]
	won, lost := r.together(ctx, t,
		said{face: one, what: decisionOf(r.kind, plain(one, r.kind, round))},
		said{face: other, what: otherDecision(r.kind, plain(other, r.kind, round+1))})
	claim, err := r.Take(ctx)
	require.NoError(t, err)
	handed := slices.Concat(claim.Resume.Approvals, claim.Resume.Questions)
	require.Len(t, handed, 1, "the worker is handed it once")
	recorded := handed[0].Resolution
	require.Equal(t, r.prompt.RequestID, recorded.RequestID)
	require.Equal(t, outcomes[won.what.Verb], recorded.Outcome)
	require.Equal(t, won.face.Name(), recorded.ResolvedBy)
	requireLost(t, lost.face, lost.what, &fate{prompt: r.prompt, recorded: recorded, status: "running", agentID: "default"}, lost.reply)
}

// roundOfChild is one race about a child's question.
func (r *race) roundOfChild(t *testing.T, round int, one, other Face) {
	t.Helper()
	ctx := rig.Soon(t)
	var err error
	r.prompt, r.child, err = r.Ask(ctx, Asked{Kind: r.kind, ID: fmt.Sprintf("round-%d", round)})
	require.NoError(t, err)
	won, lost := r.together(ctx, t,
		said{face: one, what: decisionOf(r.kind, plain(one, r.kind, round))},
		said{face: other, what: otherDecision(r.kind, plain(other, r.kind, round+1))})
	f := r.fate(t)
	require.Equal(t, outcomes[won.what.Verb], f.recorded.Outcome)
	require.Equal(t, won.face.Name(), f.recorded.ResolvedBy)
	requireLost(t, lost.face, lost.what, f, lost.reply)
	claim, err := r.child.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, f.recorded.Declined, claim.Resume.Clarification.Declined)
	require.Equal(t, f.recorded.Answers, asLogged(*claim.Resume.Clarification).Answers)
}

// stopping is one race in which one side stops the run if it wins.
func (r *race) stopping(t *testing.T, one, other Face) {
	t.Helper()
	ctx := rig.Soon(t)
	prompts, _, err := r.Raise(ctx, false, Asked{Kind: r.kind, ID: "first"})
	require.NoError(t, err)
	r.prompt = prompts[0]
	stops, goesOn := one, other
	if !Can(one, r.kind, Stop) {
		stops, goesOn = other, one
	}
	won, lost := r.together(ctx, t,
		said{face: stops, what: decisionOf(r.kind, Stop)}, said{face: goesOn, what: otherDecision(r.kind, plain(goesOn, r.kind, 0))})
	f := r.fate(t)
	require.Equal(t, outcomes[won.what.Verb], f.recorded.Outcome)
	requireLost(t, lost.face, lost.what, f, lost.reply)
}

// crowd is the number of concurrent decisions about one prompt.
const crowd = 100

// testCrowd makes very many decisions about one prompt at once, on all faces. One is recorded, all
// others get the reply of the race table, no click decides the next prompt, and the worker receives
// the decision once.
func testCrowd(t *testing.T, s *inProcess) {
	for _, kind := range []Kind{Approval, Choice, Typed, Clarification} {
		for _, among := range []bool{false, true} {
			name := string(kind)
			if among {
				name += ", with another one behind it"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := s.race(t, kind, winner{}, among)
				faces := slices.DeleteFunc(All(), func(face Face) bool { return len(face.Verbs(kind)) == 0 })
				all := make([]said, crowd)
				for i := range all {
					all[i].face = faces[i%len(faces)]
					all[i].what = decisionOf(kind, plain(all[i].face, kind, i))
					if kind == Clarification {
						all[i].what = decisionOf(kind, Answer) // all give the same answer
					}
				}
				r.atOnce(t, all, func(ctx context.Context, who *said) (Reply, error) {
					return who.face.Decide(ctx, r.Service, r.prompt, who.what, As(who.name))
				})
				r.requireOneTaken(t, all)
				if among {
					r.requireShown(t, *r.sibling)
				}
				r.handOver(t)
			})
		}
	}
	t.Run("one of several questions", func(t *testing.T) {
		t.Parallel()
		r := s.race(t, Several, winner{}, false)
		all := make([]said, crowd)
		for i := range all {
			all[i].face, all[i].what = []Face{Hermes{}, Timbal{}}[i%2], decisionOf(Several, Answer)
		}
		id, text := r.prompt.Handle+":notes", "none"
		r.atOnce(t, all, func(ctx context.Context, who *said) (Reply, error) {
			if timbal, ok := who.face.(Timbal); ok {
				return timbal.Resume(ctx, r.Service, r.RunID, map[string]any{id: text}, As(who.name))
			}
			return r.Post(ctx, "/api/clarify/respond", encode(map[string]any{
				"session_id": r.SessionID, "clarify_id": id, "response": text,
			}), As(who.name))
		})
		taken := 0
		for _, who := range all {
			if who.face.Took(who.reply) {
				taken++
				continue
			}
			requireLost(t, who.face, who.what, &fate{prompt: r.prompt, status: "waiting", agentID: "default"}, who.reply)
		}
		require.Equal(t, 1, taken, "exactly one is taken")
		r.requireShown(t, r.prompt)
		recorded, err := r.Recorded(rig.Soon(t), r.RunID, r.prompt.RequestID)
		require.NoError(t, err)
		require.Empty(t, recorded, "the other question is open")
	})
}

// atOnce makes all decisions at once, each under a different name.
func (r *race) atOnce(t *testing.T, all []said, decide func(context.Context, *said) (Reply, error)) {
	t.Helper()
	ctx := rig.Soon(t)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range all {
		who := &all[i]
		who.name = fmt.Sprintf("caller-%d", i)
		group.Go(func() {
			<-start
			who.reply, who.err = decide(ctx, who)
		})
	}
	close(start)
	group.Wait()
	resumes := map[string]bool{}
	for _, who := range all {
		require.NoError(t, who.err)
		if id := who.reply.Header.Get(RunIDHeader); id != "" && r.kind != Clarification {
			require.False(t, resumes[id], "two resumes have the id %s", id)
			resumes[id] = true
		}
	}
}

// requireOneTaken checks that one of many concurrent decisions was recorded, and all other replies.
// Repeating the recorded answer to a clarification succeeds on some faces.
func (r *race) requireOneTaken(t *testing.T, all []said) {
	t.Helper()
	f := r.fate(t)
	winners := 0
	for _, who := range all {
		repeats := r.kind == Clarification && who.face.Traits().Repeats
		switch {
		case f.recorded.ResolvedBy == who.name:
			winners++
			require.True(t, who.face.Took(who.reply), "%d %s", who.reply.Status, who.reply.Body)
			require.Equal(t, outcomes[who.what.Verb], f.recorded.Outcome)
		case repeats:
			require.True(t, who.face.Took(who.reply), "%d %s", who.reply.Status, who.reply.Body)
		default:
			require.False(t, who.face.Took(who.reply), "%s is taken too", who.name)
			requireLost(t, who.face, who.what, f, who.reply)
		}
	}
	require.Equal(t, 1, winners)
}

// outcomes are the recorded outcomes of the verbs.
var outcomes = map[Verb]string{
	AllowOnce: "allowed", AllowSession: "allowed", AllowAlways: "allowed", AllowEdited: "allowed",
	Deny: "denied", Stop: "cancelled", Answer: "answered", Decline: "declined",
}
