package runs_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func ms(value int64) *int64 { return &value }

// The optional members of a question: docs/spec/v1.md#question-request.
func TestSuspensionDefaults(t *testing.T) {
	h := parallelHouse(t).start("r")
	sent := approval("a")
	sent.Handle, sent.CreatedAtMs, sent.ExpiresAfterMs = "mine", 7, ms(500)
	sent.InputSchema, sent.Metadata = api.JSON(`null`), api.JSON(`null`)
	h.must(suspend("r", 1, sent, api.UserQuestionRequest{
		ToolCallID: "call-9", CreatedAtMs: 7, Handle: "mine",
		Questions: []api.UserQuestion{
			{Question: "One?", Options: []api.QuestionOption{{}, {Label: "B"}, {ID: "c"}}},
			{ID: "two", Header: "Two", Question: "Two?"},
			{Question: "Three?"},
		},
	}, api.UserQuestionRequest{ID: "typed", ResponseSchema: api.JSON(`true`)}))

	asked := h.request("r", "question-request-call-9").Question()
	require.Equal(t, []api.UserQuestion{
		{ID: "question-1", Header: "Question 1", Question: "One?", AllowFreeform: new(false), Options: []api.QuestionOption{
			{ID: "option-1", Label: "option-1"}, {ID: "option-2", Label: "B"}, {ID: "c", Label: "c"},
		}},
		{ID: "two", Header: "Two", Question: "Two?", AllowFreeform: new(true), Options: []api.QuestionOption{}},
		{ID: "question-3", Header: "Question 3", Question: "Three?", AllowFreeform: new(true), Options: []api.QuestionOption{}},
	}, asked.Questions)
	require.Equal(t, int64(startMs), asked.CreatedAtMs)
	typed := h.request("r", "typed").Question()
	require.Equal(t, "typed", typed.ToolCallID)
	require.Empty(t, typed.Questions)

	raised := h.request("r", "a")
	require.Equal(t, int64(startMs+500), raised.DueAtMs)
	shown := raised.Approval()
	require.Equal(t, ms(startMs+500), shown.ExpiresAtMs)
	require.Nil(t, shown.ExpiresAfterMs)
	require.Nil(t, shown.InputSchema)
	require.Nil(t, shown.Metadata)
	require.Equal(t, int64(startMs), shown.CreatedAtMs)
	// The service generates the handles, a unique one for each request.
	handles := map[string]bool{shown.Handle: true, asked.Handle: true, typed.Handle: true}
	require.Len(t, handles, 3)
	require.NotContains(t, handles, "mine")
	require.Equal(t, raised.Handle, shown.Handle)
	require.NotEmpty(t, h.run("r").SuspensionID)
	// Questions are raised before approvals.
	require.Equal(t, []api.EventType{"accepted", "queued", "started", "waiting_for_user_question", "waiting_for_approval"}, h.eventTypes("r"))
}

func TestSuspensionFaults(t *testing.T) {
	t.Parallel()
	change := func(request api.ApprovalRequest, change func(*api.ApprovalRequest)) api.ApprovalRequest {
		change(&request)
		return request
	}
	edit := func(change func(*api.UserQuestionRequest)) api.UserQuestionRequest {
		request := question("q")
		change(&request)
		return request
	}
	a := approval("a")
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		name     string
		requests []any
		pointers []string
	}{
		{"nothing", nil, []string{"/approvals"}},
		{"an approval without anything", []any{api.ApprovalRequest{}}, []string{"/approvals/0/id", "/approvals/0/tool_call_id", "/approvals/0/tool_name", "/approvals/0/input"}},
		{"ids that are none", []any{approval(".."), approval("a b"), approval(long(201))}, []string{"/approvals/0/id", "/approvals/1/id", "/approvals/2/id"}},
		{"an id twice", []any{a, approval("b"), a}, []string{"/approvals/2/id"}},
		{"an id for both kinds", []any{approval("x"), question("x")}, []string{"/questions/0/id"}},
		{"long texts", []any{change(a, func(a *api.ApprovalRequest) {
			a.ToolCallID, a.ToolName, a.Scope = long(257), long(201), long(201)
			a.Reason, a.Description = long(api.MaxTextLength+1), long(api.MaxTextLength+1)
		})}, []string{"/approvals/0/tool_call_id", "/approvals/0/tool_name", "/approvals/0/scope", "/approvals/0/reason", "/approvals/0/description"}},
		{"control characters and broken text", []any{change(a, func(a *api.ApprovalRequest) { a.Reason, a.Scope = "\x1b[2J", "\xff" })}, []string{"/approvals/0/scope", "/approvals/0/reason"}},
		{"directories", []any{
			change(a, func(a *api.ApprovalRequest) { a.Directory = long(api.MaxDirectoryLength + 1) }),
			change(a, func(a *api.ApprovalRequest) { a.ID, a.Directory = "b", "/srv/\x1b[2J" }),
		}, []string{"/approvals/0/directory", "/approvals/1/directory"}},
		{"metadata that is not an object", []any{change(a, func(a *api.ApprovalRequest) { a.Metadata = api.JSON(`[]`) })}, []string{"/approvals/0/metadata"}},
		{"pattern keys", []any{
			change(a, func(a *api.ApprovalRequest) { a.PatternKeys = make([]string, 65) }),
		}, append([]string{"/approvals/0/pattern_keys"}, numbered("/approvals/0/pattern_keys/%d", 65)...)},
		{"a long pattern key", []any{change(a, func(a *api.ApprovalRequest) { a.PatternKeys = []string{"ok", long(1025)} })}, []string{"/approvals/0/pattern_keys/1"}},
		{"both deadlines", []any{change(a, func(a *api.ApprovalRequest) { a.ExpiresAtMs, a.ExpiresAfterMs = ms(1), ms(1) })}, []string{"/approvals/0/expires_after_ms"}},
		{"deadlines of nought", []any{expiringApproval("a", 0), expiringQuestion("q", -1)}, []string{"/approvals/0/expires_at_ms", "/questions/0/expires_at_ms"}},
		{"deadlines from now that are none", []any{
			change(a, func(a *api.ApprovalRequest) { a.ExpiresAfterMs = ms(0) }),
			edit(func(q *api.UserQuestionRequest) { q.ExpiresAfterMs = ms(-5) }),
		}, []string{"/approvals/0/expires_after_ms", "/questions/0/expires_after_ms"}},
		{"a deadline past all bounds", []any{change(a, func(a *api.ApprovalRequest) { a.ExpiresAfterMs = ms(math.MaxInt64) })}, []string{"/approvals/0/expires_after_ms"}},
		{"deadlines after the year 9999", []any{expiringApproval("a", api.MaxTimeMs+1), expiringQuestion("q", 1<<53)}, []string{"/approvals/0/expires_at_ms", "/questions/0/expires_at_ms"}},
		{"a question without anything", []any{api.UserQuestionRequest{}}, []string{"/questions/0/id", "/questions/0/questions"}},
		{"questions with a schema", []any{edit(func(q *api.UserQuestionRequest) { q.ResponseSchema = api.JSON(`{}`) })}, []string{"/questions/0/questions"}},
		{"too many questions", []any{edit(func(q *api.UserQuestionRequest) { q.Questions = make([]api.UserQuestion, 17) })}, []string{"/questions/0/questions"}},
		{"a question twice", []any{edit(func(q *api.UserQuestionRequest) { q.Questions = append(q.Questions, q.Questions[0]) })}, []string{"/questions/0/questions/1/id"}},
		{"a default id that is taken", []any{edit(func(q *api.UserQuestionRequest) {
			q.Questions = []api.UserQuestion{{ID: "question-2", Question: "?"}, {Question: "?"}}
		})}, []string{"/questions/0/questions/1/id"}},
		{"a question of blanks", []any{edit(func(q *api.UserQuestionRequest) {
			q.Questions = []api.UserQuestion{{Question: " \n"}, {ID: "a b", Header: long(201), Question: long(api.MaxTextLength + 1)}}
		})}, []string{"/questions/0/questions/0/question", "/questions/0/questions/1/id", "/questions/0/questions/1/header", "/questions/0/questions/1/question"}},
		{"too many options", []any{edit(func(q *api.UserQuestionRequest) { q.Questions[0].Options = make([]api.QuestionOption, 65) })}, []string{"/questions/0/questions/0/options"}},
		{"bad options", []any{edit(func(q *api.UserQuestionRequest) {
			q.Questions[0].Options = []api.QuestionOption{
				{ID: "x"}, {ID: "x"}, {ID: long(201), Label: "\x00", Description: "\x00", Preview: long(api.MaxTextLength + 1)},
			}
		})}, []string{
			"/questions/0/questions/0/options/1/id", "/questions/0/questions/0/options/2/id", "/questions/0/questions/0/options/2/label",
			"/questions/0/questions/0/options/2/description", "/questions/0/questions/0/options/2/preview",
		}},
		{"long texts of a question", []any{edit(func(q *api.UserQuestionRequest) {
			q.ToolCallID, q.Kind, q.Metadata = long(257), long(201), api.JSON(`"m"`)
		})}, []string{"/questions/0/tool_call_id", "/questions/0/kind", "/questions/0/metadata"}},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			require.Equal(t, test.pointers, pointersOf(h.refused(api.CodeInvalidRequest, suspend("r", 1, test.requests...))))
			// The same faults, with pointers below the suspend member of a created run.
			inCreate := make([]string, len(test.pointers))
			for i, pointer := range test.pointers {
				inCreate[i] = "/suspend" + pointer
			}
			suspension := suspend("r", 1, test.requests...).Suspension
			require.Equal(t, inCreate, pointersOf(h.refused(api.CodeInvalidRequest, &runs.CreateRun{Input: api.JSON(`1`), Suspend: &suspension})))
		})
	}
}

func numbered(format string, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, i)
	}
	return texts
}

func pointersOf(refusal *refusal.Error) []string {
	pointers := []string{}
	for _, fault := range refusal.Faults {
		pointers = append(pointers, fault.Pointer)
	}
	return pointers
}

func TestSuspensionLimits(t *testing.T) {
	t.Parallel()
	many := func(from, n int) []any {
		requests := make([]any, n)
		for i := range requests {
			requests[i] = approval(fmt.Sprintf("a-%d", from+i))
		}
		return requests
	}
	h := newHouse(t)
	require.Equal(t, []string{"/approvals"}, pointersOf(h.refused(api.CodeInvalidRequest, suspend("r", 1, many(0, 101)...))))
	bad := suspend("r", 1, approval("a"))
	bad.SuspensionID, bad.SettledAfter = "..", ms(-1)
	require.Equal(t, []string{"/suspension_id", "/settled_after"}, pointersOf(h.refused(api.CodeInvalidRequest, bad)))

	full := question("q")
	full.Questions = make([]api.UserQuestion, api.MaxQuestionsPerRequest)
	for i := range full.Questions {
		full.Questions[i] = api.UserQuestion{Question: "?", Options: make([]api.QuestionOption, api.MaxOptionsPerQuestion)}
	}
	h.start("r")
	h.must(hold("r", 1, append(many(1000, 99), full)...))
	for i := range 9 {
		h.must(hold("r", 1, many(i*100, 100)...))
	}
	require.Equal(t, []string{"/approvals"}, pointersOf(h.refused(api.CodeInvalidRequest, hold("r", 1, approval("one-more")))))
	require.Equal(t, []string{"/approvals"}, pointersOf(h.refused(api.CodeInvalidRequest, hold("r", 1, approval("one-more"), question("another")))))
	require.Equal(t, []string{"/questions"}, pointersOf(h.refused(api.CodeInvalidRequest, hold("r", 1, question("another")))))
}

// A request id is used once in a run.
func TestRequestIDsAreUsedOnce(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), question("q"))
	h.must(allow("r", "a"))
	h.must(answer("r", "q", "north"))
	fence := h.claim("r")
	for _, again := range []runs.Command{
		suspend("r", fence, approval("a")), suspend("r", fence, question("a")), suspend("r", fence, approval("b"), approval("q")),
	} {
		h.refused(api.CodeIDConflict, again)
	}
	h.must(suspend("r", fence, approval("b")))
	// Another run may use the id.
	h.must(&runs.CancelRun{RunID: "r"})
	h.wait("other", approval("a"))
}

// Schemas must be usable and must not refer to other documents. Without its limit, one that doubles
// sixty times would never end.
func TestSchemasThatAreRefused(t *testing.T) {
	t.Parallel()
	chain := func(reference, anchor string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"$ref":"`+reference+`","$defs":{`, 0)
		for i := range 60 {
			name := ""
			if anchor != "" {
				name = fmt.Sprintf(`"%s":"a%d",`, anchor, i)
			}
			next := fmt.Sprintf(reference, i+1)
			fmt.Fprintf(&b, `"a%d":{%s"allOf":[{"$ref":"%s"},{"$ref":"%s"}]},`, i, name, next, next)
		}
		last := ""
		if anchor != "" {
			last = `"` + anchor + `":"a60"`
		}
		return b.String() + `"a60":{` + last + `}}}`
	}
	for name, schema := range map[string]string{
		"no schema":                    `7`,
		"unknown type":                 `{"type":"text"}`,
		"remote reference":             `{"$ref":"https://example.com/schema.json"}`,
		"file":                         `{"$ref":"file:///etc/passwd"}`,
		"remote metaschema":            `{"$schema":"https://example.com/schema.json"}`,
		"reference to nothing":         `{"$ref":"#/$defs/none"}`,
		"bad pattern":                  `{"pattern":"("}`,
		"huge pattern":                 `{"pattern":"` + strings.Repeat("a{1000}", 200) + `"}`,
		"too long":                     `{"description":"` + strings.Repeat("x", api.MaxSchemaBytes) + `"}`,
		"doubling":                     chain("#/$defs/a%d", ""),
		"doubling by escaped pointers": chain("#/%%24defs/a%d", ""),
		"doubling by anchors":          chain("#a%d", "$anchor"),
		"doubling by dynamic anchors":  strings.ReplaceAll(chain("#a%d", "$dynamicAnchor"), "$ref", "$dynamicRef"),
		"doubling by full names":       chain("urn:holdpoint:schema#/$defs/a%d", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, q := approval("a"), question("q")
			a.InputSchema = api.JSON(schema)
			q.Questions, q.ResponseSchema = nil, api.JSON(schema)
			refusal := newHouse(t).refused(api.CodeInvalidRequest, suspend("r", 1, a, q))
			require.Equal(t, []string{"/approvals/0/input_schema", "/questions/0/response_schema"}, pointersOf(refusal))
			require.NotContains(t, refusal.Faults[0].Detail, "\n")
		})
	}
}

// A recursive schema is harmless until a value makes it exponentially expensive. Without a budget the
// check of the value would never end.
func TestSchemaThatAValueMakesExpensive(t *testing.T) {
	h := parallelHouse(t)
	h.wait("r", api.UserQuestionRequest{ID: "q", ResponseSchema: api.JSON(
		`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`)})
	value := func(depth int) *runs.AnswerQuestion {
		text := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		return &runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q", Value: api.JSON(text)}}
	}
	refusal := h.refused(api.CodeInvalidRequest, value(60))
	require.Equal(t, []api.Fault{{Pointer: "/resolution/value", Detail: "cannot be checked: the schema is too complex for this value"}}, refusal.Faults)
	h.must(value(6))
}

func TestUsefulSchemasAreTaken(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"tree":     `{"$defs":{"node":{"type":"object","properties":{"left":{"$ref":"#/$defs/node"},"right":{"$ref":"#/$defs/node"}}}},"$ref":"#/$defs/node"}`,
		"anchor":   `{"properties":{"a":{"$ref":"#x"},"b":{"$ref":"#x"}},"$defs":{"x":{"$anchor":"x","type":"integer"}}}`,
		"draft 7":  `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"type":"object"}},"$ref":"#/definitions/x"}`,
		"all":      `true`,
		"nothing":  `false`,
		"pattern":  `{"type":"string","pattern":"^[a-z]{1,64}$"}`,
		"any JSON": `{"anyOf":[{"type":["string","number","boolean","null"]},{"type":"array","items":{"$ref":"#"}},{"type":"object","additionalProperties":{"$ref":"#"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := approval("a")
			a.InputSchema = api.JSON(schema)
			h := newHouse(t).wait("r", a)
			command := allow("r", "a")
			command.Resolutions[0].UpdatedInput = api.JSON(`{"left":{"right":{}},"list":[1,[2,{"a":"b"}]]}`)
			if name == "nothing" || name == "pattern" {
				h.refused(api.CodeInvalidRequest, command)
				return
			}
			h.must(command)
		})
	}
}

// A value's faults have a fixed order and a maximum number.
func TestSchemaFaultsInOrder(t *testing.T) {
	h := parallelHouse(t)
	h.wait("r", api.UserQuestionRequest{ID: "q", ResponseSchema: api.JSON(`{
		"properties":{"a":{"type":"string"},"b":{"items":{"type":"integer"}}},"additionalProperties":false}`)})
	answered := func(value string) *runs.AnswerQuestion {
		return &runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q", Value: api.JSON(value)}}
	}
	refusal := h.refused(api.CodeInvalidRequest, answered(`{"z":1,"b":[1,"x"],"y":2,"a":7,"x":3}`))
	require.Equal(t, []api.Fault{
		{Pointer: "/resolution/value", Detail: "additional properties 'x', 'y', 'z' not allowed"},
		{Pointer: "/resolution/value/a", Detail: "got number, want string"},
		{Pointer: "/resolution/value/b/1", Detail: "got string, want integer"},
	}, refusal.Faults)
	refusal = h.refused(api.CodeInvalidRequest, answered(`{"b":[`+strings.Repeat(`"x",`, 500)+`"x"]}`))
	require.Len(t, refusal.Faults, 20)
}

func TestHints(t *testing.T) {
	h := parallelHouse(t).start("r")
	hinted := func(hints ...api.Hint) (api.ApprovalRequest, api.UserQuestionRequest) {
		asked, question := approval("a"), question("q")
		asked.Hints, question.Hints = hints, hints
		return asked, question
	}
	good := []api.Hint{{Level: api.HintInfo, Text: "reads"}, {Level: api.HintWarn, Text: "writes"}, {Level: api.HintDanger, Text: strings.Repeat("x", api.MaxHintLength)}}
	for at, bad := range map[string][]api.Hint{
		"/hints":         slices.Repeat(good, 3),
		"/hints/0/level": {{Level: "loud", Text: "x"}},
		"/hints/1/text":  {good[0], {Level: api.HintWarn, Text: " "}},
		"/hints/0/text":  {{Level: api.HintWarn, Text: strings.Repeat("x", api.MaxHintLength+1)}},
	} {
		asked, question := hinted(bad...)
		faults := h.refused(api.CodeInvalidRequest, suspend("r", 1, asked, question)).Faults
		require.Len(t, faults, 2, at)
		require.Equal(t, []string{"/approvals/0" + at, "/questions/0" + at}, []string{faults[0].Pointer, faults[1].Pointer})
	}
	asked, question := hinted(good...)
	h.must(suspend("r", 1, asked, question))
	require.Equal(t, good, h.request("r", "a").Approval().Hints)
	require.Equal(t, good, h.request("r", "q").Question().Hints)
}

// Every text of a request counts towards the caller's stored bytes, wherever it stands.
func TestEveryTextOfARequestIsCounted(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 1_000)
	bytesOf := func(request any) int {
		if asked, is := request.(api.UserQuestionRequest); is {
			size := suspend("r", 1, asked).Spec().Size().Bytes
			require.Equal(t, size, (&runs.AskClarification{RunID: "r", Request: asked}).Spec().Size().Bytes)
			return size
		}
		return suspend("r", 1, request).Spec().Size().Bytes
	}
	none := bytesOf(api.ApprovalRequest{})
	for name, request := range map[string]any{
		"input": api.ApprovalRequest{Input: api.JSON(text)}, "input_schema": api.ApprovalRequest{InputSchema: api.JSON(text)},
		"reason": api.ApprovalRequest{Reason: text}, "description": api.ApprovalRequest{Description: text}, "metadata": api.ApprovalRequest{Metadata: api.JSON(text)},
		"pattern_keys": api.ApprovalRequest{PatternKeys: []string{text}}, "hints": api.ApprovalRequest{Hints: []api.Hint{{Text: text}}},
		"escalation": api.ApprovalRequest{Escalation: &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{text}}}}},
		"also_from":  api.ApprovalRequest{Escalation: &api.Escalation{Steps: []api.EscalationStep{{AlsoFrom: []string{text}}}}},
		"payload":    api.UserQuestionRequest{Payload: api.JSON(text)}, "questions": api.UserQuestionRequest{Questions: []api.UserQuestion{{Question: text}}},
		"options": api.UserQuestionRequest{Questions: []api.UserQuestion{{Options: []api.QuestionOption{{Preview: text}}}}},
	} {
		require.Equal(t, none+len(text), bytesOf(request), name)
	}
}
