package runs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
)

func questionUntil(id string, e *api.Escalation) api.UserQuestionRequest {
	q := question(id)
	q.ExpiresAfterMs, q.Escalation = ms(60_000), e
	return q
}

var northAnswer = &api.DefaultAnswer{Answers: []api.UserQuestionAnswer{{QuestionID: "route", SelectedOptionIDs: []string{"north"}}}}

// What a deadline does. The outcome is always expired, and no deadline allows.
func TestWhatADeadlineDoes(t *testing.T) {
	t.Parallel()
	typed := api.UserQuestionRequest{
		ID: "q", ResponseSchema: api.JSON(`{"type":"integer"}`), ExpiresAfterMs: ms(60_000),
		Escalation: &api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: &api.DefaultAnswer{Value: api.JSON(`7`)}},
	}
	deny := approval("q")
	deny.ExpiresAfterMs, deny.Escalation = ms(60_000), &api.Escalation{AtDeadline: api.DeadlineDeny}
	for name, c := range map[string]struct {
		request    any
		status     api.Status
		resolution string
	}{
		"approval, deny":  {deny, api.StatusRunning, `{"request_id":"q","outcome":"expired","behavior":"deny","reason":"expired at 1060000"`},
		"question":        {questionUntil("q", nil), api.StatusCancelled, `{"request_id":"q","outcome":"expired","declined":false,"reason":"expired at 1060000"`},
		"empty":           {questionUntil("q", &api.Escalation{}), api.StatusCancelled, `{"request_id":"q","outcome":"expired","declined":false,"reason":"expired at 1060000"`},
		"cancel_run":      {questionUntil("q", &api.Escalation{AtDeadline: api.DeadlineCancelRun}), api.StatusCancelled, `{"request_id":"q","outcome":"expired","declined":false,"reason":"expired at 1060000"`},
		"decline":         {questionUntil("q", &api.Escalation{AtDeadline: api.DeadlineDecline}), api.StatusRunning, `{"request_id":"q","outcome":"expired","declined":true,"reason":"expired at 1060000"`},
		"answer":          {questionUntil("q", &api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: northAnswer}), api.StatusRunning, `{"request_id":"q","outcome":"expired","declined":false,"answers":[{"question_id":"route","selected_option_ids":["north"]}],"reason":"expired at 1060000"`},
		"answer, a value": {typed, api.StatusRunning, `{"request_id":"q","outcome":"expired","declined":false,"reason":"expired at 1060000","value":7`},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", c.request)
			h.nowMs += 59_999
			require.NotEqual(t, c.status, h.must(&runs.ExpireRequests{RunID: "r"}).Run.Run.Status)
			h.nowMs++
			h.must(&runs.ExpireRequests{RunID: "r"})
			require.Equal(t, c.status, h.run("r").Status)
			requireJSON(t, c.resolution+`,"resolved_by":"system","resolved_at_ms":1060000,"via":"clock"}`, h.request("r", "q").Recorded())
		})
	}
}

// A default answer is checked when the question is raised. One that an earlier version accepted is recorded,
// even if it does not have the format of its schema.
func TestADefaultAnswerIsNotCheckedAtTheDeadline(t *testing.T) {
	h := parallelHouse(t)
	h.wait("r", api.UserQuestionRequest{
		ID: "q", ResponseSchema: api.JSON(`{"type":"string"}`), ExpiresAfterMs: ms(60_000),
		Escalation: &api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: &api.DefaultAnswer{Value: api.JSON(`"soon"`)}},
	})
	stored := h.request("r", "q")
	stored.Body = api.JSON(strings.Replace(string(stored.Body), `{"type":"string"}`, `{"type":"string","format":"date"}`, 1))
	require.Contains(t, string(stored.Body), "format")
	h.nowMs += 60_000
	h.must(&runs.ExpireRequests{RunID: "r"})
	require.Equal(t, api.StatusRunning, h.run("r").Status)
	require.Equal(t, `"soon"`, string(h.request("r", "q").Recorded().Value))
}

// A request that is kept can be decided after its deadline.
func TestAKeptRequestStaysOpen(t *testing.T) {
	t.Parallel()
	keep := &api.Escalation{AtDeadline: api.DeadlineKeep}
	h := newHouse(t)
	a := approval("a")
	a.ExpiresAfterMs, a.Escalation = ms(60_000), keep
	h.wait("r", a, questionUntil("q", keep))
	h.nowMs += 10 * 60_000
	h.must(&runs.ExpireRequests{RunID: "r"})
	for _, id := range []string{"a", "q"} {
		require.True(t, h.request("r", id).Open())
		require.Zero(t, h.request("r", id).DueAtMs)
		require.Equal(t, int64(startMs+60_000), h.request("r", id).ShownDeadlineMs())
	}
	h.must(allow("r", "a"))
	h.must(answer("r", "q", "north"))
	require.Equal(t, api.StatusRunning, h.run("r").Status)
}

// Of several overdue questions, those before the first that cancels the run do what they say.
func TestSeveralDeadlinesAtOnce(t *testing.T) {
	h := parallelHouse(t)
	first, last := questionUntil("first", &api.Escalation{AtDeadline: api.DeadlineDecline}), questionUntil("last", &api.Escalation{AtDeadline: api.DeadlineDecline})
	first.ExpiresAfterMs, last.ExpiresAfterMs = ms(1_000), ms(3_000)
	cancels := questionUntil("cancels", nil)
	cancels.ExpiresAfterMs = ms(2_000)
	h.wait("r", last, cancels, first, approval("a"))
	h.nowMs += 3_000
	h.must(&runs.ExpireRequests{RunID: "r"})
	require.Equal(t, api.StatusCancelled, h.run("r").Status)
	for id, outcome := range map[string]api.Outcome{
		"first": api.OutcomeExpired, "cancels": api.OutcomeExpired, "last": api.OutcomeCancelled, "a": api.OutcomeCancelled,
	} {
		require.Equal(t, outcome, h.request("r", id).Outcome, id)
	}
	require.Equal(t, fmt.Sprintf("user-question request cancels expired at %d", startMs+2_000), h.run("r").Error)
}

// steps returns an approval "q" with an escalation.
func steps(list ...api.EscalationStep) api.ApprovalRequest {
	a := approval("q")
	a.Escalation = &api.Escalation{Steps: list}
	return a
}

func TestWhatIsNoEscalation(t *testing.T) {
	t.Parallel()
	of := func(e api.Escalation) api.UserQuestionRequest { return questionUntil("q", &e) }
	onApproval := func(e api.Escalation) api.ApprovalRequest {
		a := approval("q")
		a.Escalation = &e
		return a
	}
	also := func(selectors ...string) api.ApprovalRequest {
		return onApproval(*alsoFrom(selectors...))
	}
	sensitive := of(api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: northAnswer})
	sensitive.Sensitive = true
	wrong := &api.DefaultAnswer{Answers: []api.UserQuestionAnswer{{QuestionID: "route", SelectedOptionIDs: []string{"up"}}}}
	typed := of(api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: &api.DefaultAnswer{Value: api.JSON(`"x"`)}})
	typed.Questions, typed.ResponseSchema = nil, api.JSON(`{"type":"integer"}`)
	dated := of(api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: &api.DefaultAnswer{Value: api.JSON(`"soon"`)}})
	dated.Questions, dated.ResponseSchema = nil, api.JSON(`{"type":"string","format":"date"}`)
	for name, c := range map[string]struct {
		request any
		pointer string
	}{
		"an approval is allowed":        {onApproval(api.Escalation{AtDeadline: "allow"}), "/approvals/0/escalation/at_deadline"},
		"an approval is answered":       {onApproval(api.Escalation{AtDeadline: api.DeadlineAnswer}), "/approvals/0/escalation/at_deadline"},
		"an approval has an answer":     {onApproval(api.Escalation{DefaultAnswer: northAnswer}), "/approvals/0/escalation/default_answer"},
		"a question is denied":          {of(api.Escalation{AtDeadline: api.DeadlineDeny}), "/questions/0/escalation/at_deadline"},
		"an answer without its action":  {of(api.Escalation{DefaultAnswer: northAnswer}), "/questions/0/escalation/default_answer"},
		"an action without its answer":  {of(api.Escalation{AtDeadline: api.DeadlineAnswer}), "/questions/0/escalation/default_answer"},
		"an option that does not exist": {of(api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: wrong}), "/questions/0/escalation/default_answer"},
		"a missing answer":              {of(api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: &api.DefaultAnswer{}}), "/questions/0/escalation/default_answer"},
		"a value of another type":       {typed, "/questions/0/escalation/default_answer/value"},
		"a text of another format":      {dated, "/questions/0/escalation/default_answer/value"},
		"a sensitive question":          {sensitive, "/questions/0/escalation/default_answer"},
		"a calendar without steps":      {of(api.Escalation{Calendar: "office"}), "/questions/0/escalation/calendar"},
		"an unknown calendar":           {of(api.Escalation{Calendar: "office", Steps: []api.EscalationStep{{Notify: []string{"role:admin"}}}}), "/questions/0/escalation/calendar"},
		"no selectors":                  {steps(api.EscalationStep{}), "/approvals/0/escalation/steps/0/notify"},
		"too many selectors":            {steps(api.EscalationStep{Notify: slices.Repeat([]string{"user:a"}, api.MaxSelectors+1)}), "/approvals/0/escalation/steps/0/notify"},
		"a long selector":               {steps(api.EscalationStep{Notify: []string{"user:" + strings.Repeat("a", api.MaxSelectorLength)}}), "/approvals/0/escalation/steps/0/notify/0"},
		"an unknown selector":           {steps(api.EscalationStep{Notify: []string{"ada"}}), "/approvals/0/escalation/steps/0/notify/0"},
		"a name that is missing":        {steps(api.EscalationStep{Notify: []string{"group: "}}), "/approvals/0/escalation/steps/0/notify/0"},
		"an unknown name":               {of(api.Escalation{Name: "usual"}), "/questions/0/escalation/name"},
		"a name and more":               {onApproval(api.Escalation{Name: "usual", AtDeadline: api.DeadlineKeep}), "/approvals/0/escalation/name"},
		"an unknown on-call source":     {steps(api.EscalationStep{Notify: []string{"role:admin", "oncall:payments"}}), "/approvals/0/escalation/steps/0/notify/1"},
		"an agent":                      {steps(api.EscalationStep{Notify: []string{"role:agent"}}), "/approvals/0/escalation/steps/0/notify/0"},
		"also from too many":            {also(slices.Repeat([]string{"user:a"}, api.MaxSelectors+1)...), "/approvals/0/escalation/steps/0/also_from"},
		"also from a long selector":     {also("user:" + strings.Repeat("a", api.MaxSelectorLength)), "/approvals/0/escalation/steps/0/also_from/0"},
		"also from an unknown selector": {also("user:ada", "ada"), "/approvals/0/escalation/steps/0/also_from/1"},
		"also from a missing name":      {also("group: "), "/approvals/0/escalation/steps/0/also_from/0"},
		"also from an unknown source":   {also("role:admin", "oncall:payments"), "/approvals/0/escalation/steps/0/also_from/1"},
		"also from an observer":         {also("role:observer"), "/approvals/0/escalation/steps/0/also_from/0"},
		"also from, notify missing":     {steps(api.EscalationStep{AlsoFrom: []string{"role:admin"}}), "/approvals/0/escalation/steps/0/notify"},
		"a negative time":               {steps(api.EscalationStep{AfterMs: -1, Notify: []string{"role:admin"}}), "/approvals/0/escalation/steps/0/after_ms"},
		"more than a year":              {steps(api.EscalationStep{AfterMs: api.MaxEscalationAfterMs + 1, Notify: []string{"role:admin"}}), "/approvals/0/escalation/steps/0/after_ms"},
		"too often":                     {steps(api.EscalationStep{EveryMs: api.MinEscalationEveryMs - 1, Notify: []string{"role:admin"}}), "/approvals/0/escalation/steps/0/every_ms"},
		"a repetition without a time":   {steps(api.EscalationStep{Times: 2, Notify: []string{"role:admin"}}), "/approvals/0/escalation/steps/0/times"},
		"too many times":                {steps(api.EscalationStep{EveryMs: 600_000, Times: 101, Notify: []string{"role:admin"}}), "/approvals/0/escalation/steps/0/times"},
		"steps out of order":            {steps(api.EscalationStep{AfterMs: 2, Notify: []string{"role:admin"}}, api.EscalationStep{AfterMs: 1, Notify: []string{"role:admin"}}), "/approvals/0/escalation/steps/1/after_ms"},
		"too many steps":                {steps(make([]api.EscalationStep, api.MaxEscalationSteps+1)...), "/approvals/0/escalation/steps"},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			refused := h.refused(api.CodeInvalidRequest, suspend("r", 1, c.request))
			require.Equal(t, c.pointer, refused.Faults[0].Pointer, "%v", refused.Faults)
		})
	}
	h := newHouse(t).family()
	asked := ask("q")
	asked.Request.Escalation = &api.Escalation{AtDeadline: api.DeadlineDecline}
	require.Equal(t, "/request/escalation", h.refused(api.CodeInvalidRequest, asked).Faults[0].Pointer)
}

// A request gets a copy of the escalation that it names, or of the default.
func TestANamedEscalation(t *testing.T) {
	t.Parallel()
	byRole := func(role string) []api.EscalationStep {
		return []api.EscalationStep{{Notify: []string{"role:" + role}}}
	}
	settings := &escalation.Settings{Default: "usual", Named: map[string]*escalation.Named{
		"usual": escalation.NewNamed("usual", api.Escalation{Steps: byRole("operator"), AtDeadline: api.DeadlineDeny}),
		"kept":  escalation.NewNamed("kept", api.Escalation{Steps: byRole("admin"), AtDeadline: api.DeadlineKeep}),
	}}
	h := newHouse(t).start("r")
	h.states["s"].Notifies, h.states["s"].Escalations = true, settings
	own := &api.Escalation{AtDeadline: api.DeadlineDecline}
	kept := approval("kept")
	kept.ExpiresAfterMs, kept.Escalation = ms(60_000), &api.Escalation{Name: "kept"}
	h.must(suspend("r", 1, questionUntil("default", nil), questionUntil("own", own), kept))
	for id, want := range map[string]*api.Escalation{"default": settings.Named["usual"].Escalation, "own": own, "kept": settings.Named["kept"].Escalation} {
		require.Equal(t, want, h.request("r", id).Escalation(), id)
		require.Equal(t, id != "own", h.request("r", id).EscalationState != nil, id)
	}
	require.Zero(t, h.request("r", "kept").DueAtMs)
	require.NotZero(t, h.request("r", "default").DueAtMs)
}
