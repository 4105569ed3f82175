package faces

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// race is a prompt with several competing decisions.
type race struct {
	*Scene
	s      *inProcess
	kind   Kind
	prompt Prompt
	// sibling is another open prompt; nil for none.
	sibling *Prompt
	child   *Child
	dueAtMs int64
	// handed is the worker's Resume when the prompt was raised.
	handed *Resume
}

// post makes a call that must succeed.
func (r *race) post(t *testing.T, path string, body any) {
	t.Helper()
	reply, err := r.Post(rig.Soon(t), path, encode(body))
	require.NoError(t, err)
	require.Less(t, reply.Status, 300, "%s", reply.Body)
}

// decisionOf returns the winner's decision, and otherDecision the decision of everyone after it.
func decisionOf(kind Kind, verb Verb) Decision {
	return Decision{Verb: verb, Reason: "because", Edit: map[string]any{"attempt": 2}, Answers: texts(kind, "Left", "none", "postgres")}
}

func otherDecision(kind Kind, verb Verb) Decision {
	return Decision{Verb: verb, Reason: "no", Edit: map[string]any{"attempt": 3}, Answers: texts(kind, "Right", "some", "mysql")}
}

func texts(kind Kind, way, notes, value string) []string {
	switch kind {
	case Choice, Clarification:
		return []string{way}
	case Several:
		return []string{way, notes}
	case Typed:
		return []string{value}
	case Approval:
	}
	return nil
}

// testRaceTable lets each face win against all others: the first decision stands, and every other
// decision that a face can make gets the reply of the race table.
func testRaceTable(t *testing.T, s *inProcess) {
	for _, kind := range []Kind{Approval, Choice, Several, Typed, Clarification} {
		for i, first := range winners(kind) {
			if s.leaves(i) {
				continue
			}
			for _, among := range []bool{false, true} {
				if among && first.ends {
					continue
				}
				name := fmt.Sprintf("%s/%s", kind, first.name)
				if among {
					name += ", among others"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					r := s.race(t, kind, first, among)
					if first.face == nil {
						first.win(t, r)
					} else {
						won, err := first.face.Decide(rig.Soon(t), r.Service, r.prompt, decisionOf(kind, first.verb), As("winner"))
						require.NoError(t, err)
						require.True(t, first.face.Took(won), "%d %s", won.Status, won.Body)
					}
					r.requireLosers(t, !among)
					r.requireGone(t, r.prompt)
					if among {
						r.requireShown(t, *r.sibling)
					}
					r.handOver(t)
				})
			}
		}
	}
}

// leaves reports whether a case is left to the other engine. Each case runs on one engine, and each face meets both:
// store/storetest shows that the engines decide alike. "make nightly" runs every case on both.
func (s *inProcess) leaves(number int) bool {
	return !storetest.Thorough && (s.engine == "sqlite") != (number%2 == 0)
}

// race raises a prompt, with a sibling if among is set, and checks that every face shows it.
func (s *inProcess) race(t *testing.T, kind Kind, first winner, among bool) *race {
	t.Helper()
	r := &race{Scene: s.begin(t), s: s, kind: kind}
	if first.before != nil {
		first.before(t, r)
	}
	asked := Asked{Kind: kind, ID: "first"}
	if first.with != nil {
		asked.With = first.with(t, r)
	}
	all := []Asked{asked}
	sibling := Asked{Kind: Choice, ID: "other"}
	if kind == Approval {
		sibling.Kind = Approval
	}
	if among {
		all = append(all, sibling)
	}
	var err error
	if kind == Clarification {
		r.prompt, r.child, err = r.Ask(rig.Soon(t), asked)
		require.NoError(t, err)
		all = all[1:]
		// The siblings are ordered by time, so wait for another millisecond.
		nowMs, err := s.store.NowMs(rig.Soon(t))
		require.NoError(t, err)
		s.passed(t, nowMs+1)
	}
	var prompts []Prompt
	if len(all) > 0 {
		prompts, r.handed, err = r.Raise(rig.Soon(t), first.hold, all...)
		require.NoError(t, err)
	}
	if kind != Clarification {
		r.prompt, prompts = prompts[0], prompts[1:]
	}
	if among {
		r.sibling = &prompts[0]
	}
	if first.face != nil && !among {
		r.requireShown(t, r.prompt)
	}
	return r
}

// requireShown checks that every face shows a prompt as open. Hermes shows only the oldest.
func (r *race) requireShown(t *testing.T, prompt Prompt) {
	t.Helper()
	_, err := r.Chat.Await(rig.Soon(t), func(f Frame) bool { return f.ID == prompt.Handle })
	require.NoError(t, err)
	require.Contains(t, r.Chat.Open(), prompt.Handle)
	for _, face := range All() {
		if face.Traits().InChat {
			continue
		}
		open, err := face.Open(rig.Soon(t), r.Service, prompt)
		require.NoError(t, err)
		require.Contains(t, open, prompt.Handle, face.Name())
	}
}

// requireGone checks that no face shows a prompt as open.
func (r *race) requireGone(t *testing.T, prompt Prompt) {
	t.Helper()
	for _, face := range All() {
		if face.Traits().InChat {
			continue
		}
		open, err := face.Open(rig.Soon(t), r.Service, prompt)
		require.NoError(t, err)
		require.NotContains(t, open, prompt.Handle, face.Name())
	}
	require.Eventually(t, func() bool { return !slices.Contains(r.Chat.Open(), prompt.Handle) }, rig.Patience, pause)
}

// fate reads the current state.
func (r *race) fate(t *testing.T) *fate {
	t.Helper()
	recorded, err := r.Recorded(rig.Soon(t), r.prompt.RunID, r.prompt.RequestID)
	require.NoError(t, err)
	require.Len(t, recorded, 1, "it is recorded once")
	var run, chat struct {
		Status  string `json:"status"`
		AgentID string `json:"agent_id"`
	}
	require.NoError(t, r.read(rig.Soon(t), "/v1/runs/"+r.prompt.RunID, &run))
	require.NoError(t, r.read(rig.Soon(t), "/v1/runs/"+r.RunID, &chat))
	f := &fate{
		prompt: r.prompt, recorded: recorded[0], status: run.Status, agentID: run.AgentID,
		sibling: r.sibling != nil, dueAtMs: r.dueAtMs,
	}
	f.chatOver = (&fate{status: chat.Status}).over()
	return f
}

// requireLosers makes late decisions on every face, all possible ones or one.
func (r *race) requireLosers(t *testing.T, all bool) {
	t.Helper()
	before := r.fate(t)
	for _, face := range All() {
		verbs := face.Verbs(r.kind)
		switch {
		case len(verbs) == 0:
			verbs = []Verb{AllowOnce}
		case !all:
			verbs = verbs[:1]
		}
		for _, verb := range verbs {
			what := otherDecision(r.kind, verb)
			got, err := face.Decide(rig.Soon(t), r.Service, r.prompt, what, As("loser"))
			require.NoError(t, err)
			if _, native := face.(Native); native && r.repeats(what, before) {
				// This is the one answer that may be repeated.
				require.True(t, face.Took(got), "%s", got.Body)
				continue
			}
			requireLost(t, face, what, before, got)
		}
	}
	require.Equal(t, before, r.fate(t), "nothing has changed")
	var rules []struct {
		CreatedBy string `json:"created_by"`
	}
	require.NoError(t, r.read(rig.Soon(t), "/v1/rules?session_id="+r.SessionID, &rules))
	for _, rule := range rules {
		require.NotEqual(t, "loser", rule.CreatedBy, "who lost has written a rule")
	}
}

// repeats reports whether a decision equals the recorded one about a clarification.
func (r *race) repeats(what Decision, f *fate) bool {
	return r.kind == Clarification && what.Verb == Decline && f.recorded.Outcome == "declined" && f.recorded.Justification == nil
}

// handOver checks that the worker receives the decision once. Later callers get the same reply, or
// after the run's end the one for a run that is over.
func (r *race) handOver(t *testing.T) {
	t.Helper()
	f := r.fate(t)
	if r.child != nil {
		claim, err := r.child.Take(rig.Soon(t))
		require.NoError(t, err)
		require.NotNil(t, claim.Resume)
		require.NotNil(t, claim.Resume.Clarification)
		require.Equal(t, r.prompt.RequestID, claim.Resume.Clarification.RequestID)
		require.Equal(t, f.recorded.Outcome != "answered", claim.Resume.Clarification.Declined)
	}
	if f.chatOver {
		reply, err := r.Post(rig.Soon(t), "/v1/runs/"+r.RunID+"/claim", `{"worker_id":"thief"}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, reply.Status, "%s", reply.Body)
		return
	}
	if r.sibling != nil {
		verb := Answer
		if r.sibling.Kind == Approval {
			verb = Deny
		}
		_, err := Native{}.Decide(rig.Soon(t), r.Service, *r.sibling, otherDecision(r.sibling.Kind, verb))
		require.NoError(t, err)
		r.sibling = nil
	}
	if r.child == nil {
		require.Equal(t, []Resolution{r.fate(t).recorded}, r.taken(rig.Soon(t), t))
	} else if f.sibling {
		_, err := r.Take(rig.Soon(t))
		require.NoError(t, err)
	}
	require.NoError(t, r.Complete(rig.Soon(t)))
	r.requireLosers(t, false)
}

// taken returns what the worker receives about the prompt, in the form of the log.
func (r *race) taken(ctx context.Context, t *testing.T) []Resolution {
	t.Helper()
	resume := r.handed
	var attached struct {
		Settled []Settled `json:"settled"`
	}
	reply, err := r.Get(ctx, "/v1/runs/"+r.RunID+"/resume?fence="+r.Fence+"&after=0")
	require.NoError(t, err)
	if resume == nil && reply.Status == http.StatusOK {
		require.NoError(t, reply.Into(&attached))
		resume = &Resume{Approvals: attached.Settled}
	}
	if resume == nil {
		claim, err := r.Take(ctx)
		require.NoError(t, err)
		require.NotNil(t, claim.Resume)
		resume = claim.Resume
	}
	var found []Resolution
	for _, settled := range slices.Concat(resume.Approvals, resume.Questions) {
		if settled.Request.Handle == r.prompt.Handle {
			require.Equal(t, r.prompt.RequestID, settled.Request.ID)
			found = append(found, asLogged(settled.Resolution))
		}
	}
	return found
}

// asLogged removes what a worker receives in addition to the record, and the question texts.
func asLogged(resolution Resolution) Resolution {
	resolution.Summary = ""
	if len(resolution.Answers) == 0 {
		resolution.Answers = nil
	}
	for i := range resolution.Answers {
		if len(resolution.Answers[i].SelectedOptionIDs) == 0 {
			resolution.Answers[i].SelectedOptionIDs = nil
		}
	}
	return resolution
}
