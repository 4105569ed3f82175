package runs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	minuteMs = int64(60_000)
	hourMs   = 60 * minuteMs
)

// ada, ben and carol get messages by mail.
func byMail(names ...string) (list []runs.Recipient) {
	for _, name := range names {
		list = append(list, runs.Recipient{Principal: "user:" + name, Channel: "mail"})
	}
	return list
}

// escalating is a house with one approval "q" of run "r" that escalates.
type escalating struct {
	*house
	effectID string
	// people are the recipients of each step.
	people map[int64][]runs.Recipient
	// notices are the messages of the last advance, by person.
	notices map[string]*model.PersonNotice
}

func newEscalating(t *testing.T, list ...api.EscalationStep) *escalating {
	t.Helper()
	e := &escalating{house: newHouse(t), people: map[int64][]runs.Recipient{}}
	e.start("r")
	e.states["s"].Notifies = true
	_, change, err := e.decide(suspend("r", 1, steps(list...)))
	require.NoError(t, err)
	require.Len(t, change.NewEffects, 1)
	e.effectID = change.NewEffects[0].EffectID
	return e
}

// advance does what the effects loop does, and returns the people who get a message now.
func (e *escalating) advance() (messages []string) {
	e.t.Helper()
	claimed := e.must(&runs.ClaimEffect{SessionID: "s", EffectID: e.effectID})
	require.NotNil(e.t, claimed.Effect, "it is due")
	command, err := runs.CommandOf(claimed.Effect)
	require.NoError(e.t, err)
	advance := command.(*runs.AdvanceRequest)
	for _, step := range runs.DueSteps(e.request("r", "q"), e.states["s"].Escalations, e.nowMs) {
		if to, looked := e.people[step]; looked {
			advance.Steps = append(advance.Steps, runs.DueStep{Step: step, To: to})
		}
	}
	_, change, err := e.decide(advance)
	require.NoError(e.t, err)
	e.flush()
	e.notices = map[string]*model.PersonNotice{}
	for _, effect := range change.NewEffects {
		notice, err := model.NoticeOf(effect)
		require.NoError(e.t, err)
		e.notices[notice.Principal] = notice
		messages = append(messages, notice.Principal)
	}
	return messages
}

// nextMs returns when the next step is due, counted from the start; -1 when it is over.
func (e *escalating) nextMs() int64 {
	effect := e.states["s"].Effects[e.effectID]
	if effect.State != api.EffectPending {
		return -1
	}
	return effect.DueAtMs - startMs
}

func (e *escalating) event() string { return e.lastEvent("r", api.EventRequestNotified) }

var threeSteps = []api.EscalationStep{
	{AfterMs: 0, Notify: []string{"group:finance"}},
	{AfterMs: 30 * minuteMs, Notify: []string{"group:finance"}, EveryMs: 4 * hourMs, Times: 3},
	{AfterMs: 24 * hourMs, Notify: []string{"user:carol"}, Urgent: true},
}

// An escalation over three steps, on a clock that the test moves.
func TestAnEscalation(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, threeSteps...)
	e.people = map[int64][]runs.Recipient{0: byMail("ada", "ben"), 1: byMail("ada"), 2: byMail("carol")}
	for i, want := range []struct {
		atMs int64
		told []string
		step int
	}{
		{0, []string{"user:ada", "user:ben"}, 0},
		{30 * minuteMs, []string{"user:ada"}, 1},
		{4*hourMs + 30*minuteMs, []string{"user:ada"}, 1},
		{8*hourMs + 30*minuteMs, []string{"user:ada"}, 1},
		{24 * hourMs, []string{"user:carol"}, 2},
	} {
		require.Equal(t, want.atMs, e.nextMs(), "%d", i)
		if want.atMs > 0 {
			e.nowMs = startMs + want.atMs - 1
			require.True(t, e.must(&runs.ClaimEffect{SessionID: "s", EffectID: e.effectID}).Existing, "not due yet")
		}
		e.nowMs = startMs + want.atMs
		require.Equal(t, want.told, e.advance(), "%d", i)
		require.Contains(t, e.event(), fmt.Sprintf(`"step":%d`, want.step))
	}
	require.Equal(t, int64(-1), e.nextMs())
	require.Equal(t, int64(6), e.request("r", "q").Progress().Messages)
	e.must(allow("r", "q"))
	require.Nil(t, e.request("r", "q").EscalationState)
}

// Whom a step did not reach is remembered, until they get a message or the selector selects somebody.
func TestWhomAStepDidNotReachIsRemembered(t *testing.T) {
	t.Parallel()
	e := newEscalating(t,
		api.EscalationStep{Notify: []string{"user:ben", "user:pay"}},
		api.EscalationStep{AfterMs: minuteMs, Notify: []string{"group:gone", "role:operator"}},
		api.EscalationStep{AfterMs: 2 * minuteMs, Notify: []string{"group:gone", "group:finance", "user:eve"}},
		api.EscalationStep{AfterMs: 3 * minuteMs, Notify: []string{"user:pay"}},
	)
	without := func(why string, who ...string) (list []runs.Recipient) {
		for _, name := range who {
			list = append(list, runs.Recipient{Principal: name, WhyNot: why})
		}
		return list
	}
	many := make([]string, 2*api.MaxNotReached)
	for i := range many {
		many[i] = fmt.Sprint("user:", i)
	}
	e.people = map[int64][]runs.Recipient{
		0: append(without(runs.WhyOnCallFailed, "user:pay"), without(runs.WhyNoAddress, "user:ben")...), 1: without(runs.WhyNobody, "group:gone", "role:operator"),
		2: append(byMail("ben"), without(runs.WhyNotAllowed, "user:eve")...), 3: without(runs.WhyNoAddress, many...),
	}
	for i, want := range [][]model.NotReached{
		{{Who: "user:pay", Why: runs.WhyOnCallFailed}, {Who: "user:ben", Why: runs.WhyNoAddress}},
		{
			{Who: "user:pay", Why: runs.WhyOnCallFailed},
			{Who: "user:ben", Why: runs.WhyNoAddress},
			{Who: "group:gone", Why: runs.WhyNobody},
			{Who: "role:operator", Why: runs.WhyNobody},
		},
		{{Who: "user:pay", Why: runs.WhyOnCallFailed}, {Who: "role:operator", Why: runs.WhyNobody}, {Who: "user:eve", Why: runs.WhyNotAllowed}},
	} {
		e.nowMs = startMs + int64(i)*minuteMs
		e.advance()
		require.Equal(t, want, e.request("r", "q").Progress().NotReached, "step %d", i)
	}
	e.nowMs = startMs + 3*minuteMs
	e.advance()
	last := e.request("r", "q").Progress().NotReached
	require.Len(t, last, api.MaxNotReached)
	require.Equal(t, []model.NotReached{{Who: "role:operator", Why: runs.WhyNobody}, {Who: "user:eve", Why: runs.WhyNotAllowed}}, last[:2], "the source answers again")
}

// A replica that was down sends one message a person, not one a step.
func TestStepsThatWereMissedAreOneMessage(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, threeSteps...)
	e.people = map[int64][]runs.Recipient{0: byMail("ada", "ben"), 1: byMail("ada"), 2: byMail("ada", "carol")}
	e.nowMs += 48 * hourMs
	require.Equal(t, []string{"user:ada", "user:ben", "user:carol"}, e.advance())
	require.JSONEq(t, `{"type":"request_notified","request_id":"q","step":2,"to":[
		{"who":"user:ada","channels":[],"why_not":"same_message"},{"who":"user:carol","channels":["mail"]}]}`, e.event())
	require.Equal(t, int64(-1), e.nextMs())
	for principal, ofStep := range map[string]int64{"user:ada": 2, "user:ben": 0, "user:carol": 2} {
		require.Equal(t, ofStep, e.notices[principal].OfStep, principal)
		require.Equal(t, ofStep == 2, e.notices[principal].Urgent, "%s: the message is as urgent as the most urgent of its steps", principal)
	}
}

// A step whose people were not looked up is done by the next attempt. So is one that became due meanwhile.
func TestAStepIsDoneOnlyWithItsPeople(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, threeSteps...)
	e.people = map[int64][]runs.Recipient{0: byMail("ada")}
	e.nowMs += 30 * minuteMs
	require.Equal(t, []string{"user:ada"}, e.advance())
	require.Equal(t, 30*minuteMs, e.nextMs(), "at once")
	e.people[1] = byMail("ben")
	require.Equal(t, []string{"user:ben"}, e.advance())
	require.Equal(t, 4*hourMs+30*minuteMs, e.nextMs())

	// Nobody, and people without an address, are in the event, too.
	e.nowMs = startMs + e.nextMs()
	e.people[1] = []runs.Recipient{{Principal: "user:dan", WhyNot: runs.WhyNoAddress}}
	require.Empty(t, e.advance())
	require.JSONEq(t, `{"type":"request_notified","request_id":"q","step":1,"to":[{"who":"user:dan","channels":[],"why_not":"no_address"}]}`, e.event())
	e.nowMs = startMs + e.nextMs()
	e.people[1] = nil
	require.Empty(t, e.advance())
	require.JSONEq(t, `{"type":"request_notified","request_id":"q","step":1,"to":[]}`, e.event())
}

// Two replicas: the slower one changes nothing.
func TestTwoReplicasAdvanceOnce(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, threeSteps...)
	advance := func(attempt int64) *runs.AdvanceRequest {
		return &runs.AdvanceRequest{
			SessionID: "s", EffectID: e.effectID, Attempt: attempt, RunID: "r", RequestID: "q", Handle: e.request("r", "q").Handle,
			Steps: []runs.DueStep{{To: byMail("ada")}},
		}
	}
	first := e.must(&runs.ClaimEffect{SessionID: "s", EffectID: e.effectID}).Effect
	e.nowMs += model.EffectLeaseMs
	second := e.must(&runs.ClaimEffect{SessionID: "s", EffectID: e.effectID}).Effect
	require.True(t, e.requireUnchanged(advance(first.Attempts)).Existing)
	_, change, err := e.decide(advance(second.Attempts))
	require.NoError(t, err)
	e.flush()
	require.Len(t, change.NewEffects, 1)
	require.True(t, e.requireUnchanged(advance(second.Attempts)).Existing)
}

// No request has more than 100 messages, and then the escalation is over.
func TestAnEscalationHasALimitOfMessages(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, api.EscalationStep{EveryMs: api.MinEscalationEveryMs, Notify: []string{"role:admin"}})
	for i := range 30 {
		e.people[0] = append(e.people[0], byMail(fmt.Sprint(i))...)
	}
	sent := 0
	for e.nextMs() >= 0 {
		e.nowMs = startMs + e.nextMs()
		sent += len(e.advance())
	}
	require.Equal(t, api.MaxEscalationMessages, sent)
	var event struct {
		To []struct {
			WhyNot string `json:"why_not"`
		} `json:"to"`
	}
	require.NoError(t, json.Unmarshal([]byte(e.event()), &event))
	require.Equal(t, runs.WhyLimit, event.To[29].WhyNot)
	require.EqualValues(t, 3*api.MinEscalationEveryMs, e.nowMs-startMs)
}

// A step behind the limit of messages is not lost in silence: its event and the explanation say that it reached nobody.
func TestAStepBehindTheLimitOfMessages(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, api.EscalationStep{EveryMs: api.MinEscalationEveryMs, Notify: []string{"role:operator"}},
		api.EscalationStep{AfterMs: hourMs, EveryMs: hourMs, Notify: []string{"user:carol"}})
	for i := range 50 {
		e.people[0] = append(e.people[0], byMail(fmt.Sprint(i))...)
	}
	e.people[1] = byMail("carol")
	require.Len(t, e.advance(), 50)
	e.nowMs = startMs + e.nextMs()
	require.Len(t, e.advance(), 50)
	require.Equal(t, hourMs, e.nextMs(), "the first step is not repeated again")
	e.nowMs = startMs + hourMs
	require.Empty(t, e.advance())
	require.JSONEq(t, `{"type":"request_notified","request_id":"q","step":1,"to":[{"who":"user:carol","channels":[],"why_not":"too_many_messages"}]}`, e.event())
	require.Equal(t, []model.NotReached{{Who: "user:carol", Why: runs.WhyLimit}}, e.request("r", "q").Progress().NotReached)
	require.Negative(t, e.nextMs(), "and no step is repeated")
}

// A message that was given up makes the next step due at once, but no later one, and not twice.
func TestAMessageThatWasGivenUpHurriesTheNextStep(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, threeSteps...)
	e.people = map[int64][]runs.Recipient{0: byMail("ada", "ben"), 1: byMail("ada"), 2: byMail("carol")}
	e.advance()
	handle := e.request("r", "q").Handle
	fail := func(principal string, round int64) {
		id := model.NoticeEffectID("mail", handle, principal, round)
		claimed := e.must(&runs.ClaimEffect{SessionID: "s", EffectID: id})
		e.must(&runs.FinishEffect{SessionID: "s", EffectID: id, RunID: "r", RequestHandle: handle, Attempt: claimed.Effect.Attempts, Error: "x", Permanent: true})
	}
	e.nowMs += minuteMs
	fail("user:ada", 0)
	require.Equal(t, minuteMs, e.nextMs())
	require.Equal(t, []string{"user:ada"}, e.advance())
	require.Equal(t, 4*hourMs+30*minuteMs, e.nextMs(), "its repetition keeps its time")
	fail("user:ben", 0)
	require.Equal(t, 4*hourMs+30*minuteMs, e.nextMs(), "the next step was done")
	fail("user:ada", 1)
	require.Equal(t, []string{"user:carol"}, e.advance())
	fail("user:carol", 2)
	require.Equal(t, 4*hourMs+30*minuteMs, e.nextMs(), "there is no further step")
}

// A message of several steps that is given up makes the step after all of them due.
func TestAMessageOfTwoStepsHurriesTheNextOne(t *testing.T) {
	t.Parallel()
	first := api.EscalationStep{Notify: []string{"user:ada"}}
	e := newEscalating(t, first, first, api.EscalationStep{AfterMs: 24 * hourMs, Notify: []string{"user:carol"}})
	e.people = map[int64][]runs.Recipient{0: byMail("ada"), 1: byMail("ada"), 2: byMail("carol")}
	require.Equal(t, []string{"user:ada"}, e.advance())
	require.Equal(t, 24*hourMs, e.nextMs())
	handle := e.request("r", "q").Handle
	id := model.NoticeEffectID("mail", handle, "user:ada", 0)
	claimed := e.must(&runs.ClaimEffect{SessionID: "s", EffectID: id})
	e.must(&runs.FinishEffect{SessionID: "s", EffectID: id, RunID: "r", RequestHandle: handle, Attempt: claimed.Effect.Attempts, Error: "x", Permanent: true})
	require.Zero(t, e.nextMs())
	require.Equal(t, []string{"user:carol"}, e.advance())
}

// An acknowledgement holds the steps back; then they are one message.
func TestAnAcknowledgementHoldsAnEscalation(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, threeSteps...)
	e.people = map[int64][]runs.Recipient{0: byMail("ada"), 1: byMail("ada")}
	e.must(e.looking("user:ben", "q", api.Acknowledged, nil))
	require.Empty(t, e.advance())
	e.nowMs += 30 * minuteMs
	require.Equal(t, []string{"user:ada"}, e.advance())
}

// Failures before the steps do not add up: an escalation is over after its last step only.
func TestFailuresBetweenStepsDoNotEndAnEscalation(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, api.EscalationStep{Notify: []string{"user:ada"}, EveryMs: api.MinEscalationEveryMs, Times: 40})
	e.people = map[int64][]runs.Recipient{0: byMail("ada")}
	for i := range 40 {
		e.nowMs = max(e.nowMs, startMs+e.nextMs())
		claimed := e.must(&runs.ClaimEffect{SessionID: "s", EffectID: e.effectID})
		e.must(&runs.FinishEffect{SessionID: "s", EffectID: e.effectID, Attempt: claimed.Effect.Attempts, Error: "the database is away"})
		e.nowMs = startMs + e.nextMs()
		require.Equal(t, []string{"user:ada"}, e.advance(), "%d", i)
	}
	require.Equal(t, int64(-1), e.nextMs())
}

// With a calendar the steps count working time, but for an urgent one. A clock that jumps forward does each
// step once, and one that jumps back does none twice.
func TestAnEscalationByCalendar(t *testing.T) {
	t.Parallel()
	// The house starts at 00:16 on a Thursday.
	office := &escalation.Calendar{Zone: time.UTC, Days: [7]bool{time.Friday: true}, From: 9 * 60, To: 10 * 60}
	e := &escalating{house: newHouse(t), people: map[int64][]runs.Recipient{0: byMail("ada"), 1: byMail("ben")}}
	e.start("r")
	e.states["s"].Notifies, e.states["s"].Escalations = true, &escalation.Settings{Calendars: map[string]*escalation.Calendar{"office": office}}
	a := steps(api.EscalationStep{Notify: []string{"role:admin"}}, api.EscalationStep{AfterMs: 2 * hourMs, Urgent: true, Notify: []string{"role:admin"}})
	a.Escalation.Calendar = "office"
	_, change, err := e.decide(suspend("r", 1, a))
	require.NoError(t, err)
	e.effectID = change.NewEffects[0].EffectID
	require.Equal(t, 2*hourMs, e.nextMs(), "the urgent step comes first")
	e.nowMs = startMs + 2*hourMs
	require.Equal(t, []string{"user:ben"}, e.advance())
	friday := 33 * hourMs
	require.Equal(t, friday-startMs, e.nextMs())
	e.nowMs = friday
	claimed := e.must(&runs.ClaimEffect{SessionID: "s", EffectID: e.effectID})
	require.NotNil(t, claimed.Effect)
	e.nowMs = startMs
	_, change, err = e.decide(&runs.AdvanceRequest{
		SessionID: "s", EffectID: e.effectID, Attempt: claimed.Effect.Attempts, RunID: "r", RequestID: "q", Handle: e.request("r", "q").Handle,
		Steps: []runs.DueStep{{To: byMail("ada")}, {Step: 1, To: byMail("ben")}},
	})
	require.NoError(t, err)
	e.flush()
	require.Empty(t, change.NewEffects, "the clock went back")
	e.nowMs = friday + 100*hourMs
	require.Equal(t, []string{"user:ada"}, e.advance())
	require.Equal(t, int64(-1), e.nextMs())
}

// A service that notifies nobody writes no effect for an escalation.
func TestAnEscalationWithoutChannels(t *testing.T) {
	h := parallelHouse(t).start("r")
	_, change := h.decided(suspend("r", 1, steps(threeSteps...)))
	require.Empty(t, change.NewEffects)
}
