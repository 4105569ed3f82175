package gallery

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// canonical returns the RFC 8785 form of a JSON text.
func canonical(t *testing.T, text api.JSON) string {
	t.Helper()
	form := jsontext.Value(slices.Clone(text))
	require.NoError(t, form.Canonicalize(), "%q", text)
	return string(form)
}

// values are inputs whose types are easily lost.
var values = []string{
	`"1"`, `1`, `1.0`, `-0`, `1e2`, `0.1`, `1E-7`, `5e-324`, `1.7976931348623157e308`, `9007199254740992`, `-9007199254740991`,
	`"true"`, `true`, `false`, `"null"`, `""`, `" "`, `[]`, `{}`, `[[]]`, `[null]`, `{"":{}}`, `{"a":null}`,
	`{"b":1,"a":"2","c":[true,null,{"d":"4"}]}`, `"\u00e9\/\n\t\\\""`, `"é"`, `"\u2028\ud83d\ude00"`, `{"\ud83d\ude00":"€","ﬁ":1}`,
	`"{\"a\":1}"`, `"2024-01-02T03:04:05Z"`, `["1",1,1.5,"1.5"]`,
}

// anyJSON generates an approver's values, with only exactly representable numbers.
func anyJSON() *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.String().AsAny(),
		rapid.Int64Range(-1<<53, 1<<53).AsAny(),
		rapid.Float64().Filter(func(n float64) bool { return math.Abs(n) < 1<<53 }).AsAny(),
	)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(
			scalar,
			rapid.SliceOfN(value(depth-1), 0, 4).AsAny(),
			rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny(),
		)
	}
	return value(3)
}

// The bug: edited arguments came back as strings. Here updated input keeps every type, and so does
// a typed answer: the worker receives the canonical form of what was sent.
func TestGallery18EditedArgumentsKeepTheirTypes(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		sent := slices.Clone(values)
		for i := range 60 {
			text, err := client.EncodeJSON(anyJSON().Example(i))
			require.NoError(t, err)
			sent = append(sent, string(text))
		}
		suspension := &api.Suspension{}
		var params client.ResolveApprovalsParams
		for i, text := range sent {
			id := "edit-" + strconv.Itoa(i)
			suspension.Approvals = append(suspension.Approvals, rig.Approval(id))
			params.Resolutions = append(params.Resolutions, api.ApprovalResolution{
				RequestID: id, Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"value":` + text + `}`),
			})
		}
		waitingRun(t, s.at(0), "edits", suspension)
		_, err := s.at(1).ResolveRunApprovals(rig.Soon(t), "edits", params)
		require.NoError(t, err)
		held := mustClaim(t, s.at(0), "edits")
		run, err := s.at(1).GetRun(rig.Soon(t), "edits")
		require.NoError(t, err)
		require.Len(t, held.Resume.Approvals, len(sent))
		for i, settled := range held.Resume.Approvals {
			want := canonical(t, params.Resolutions[i].UpdatedInput)
			require.Equal(t, want, canonical(t, settled.Resolution.UpdatedInput))
			require.Equal(t, want, canonical(t, run.Resume.Approvals[i].Resolution.UpdatedInput))
			require.Equal(t, `{"to":"production"}`, string(settled.Request.Input))
		}
		recorded := onlyResolution(t, s.at(1), "edits", "edit-3")
		require.Equal(t, `{"value":0}`, canonical(t, recorded.UpdatedInput))

		for i, text := range values {
			runID := "answer-" + strconv.Itoa(i)
			waitingRun(t, s.at(i), runID, &api.Suspension{Questions: []api.UserQuestionRequest{
				{ID: "typed", ResponseSchema: api.JSON(`{}`)},
			}})
			_, err := s.at(i+1).AnswerRunQuestion(rig.Soon(t), runID, client.AnswerQuestionParams{
				Resolution: api.UserQuestionResolution{RequestID: "typed", Value: api.JSON(text)},
			})
			require.NoError(t, err, text)
			held := mustClaim(t, s.at(i), runID)
			require.Equal(t, canonical(t, api.JSON(text)), canonical(t, held.Resume.Questions[0].Resolution.Value))
		}
	})
}

// hostile are values, valid JSON or almost, that have broken a consumer somewhere.
var hostile = map[string]string{
	"NUL":                     `"\u0000"`,
	"NUL within":              `"a\u0000b"`,
	"NUL in a name":           `{"\u0000":1}`,
	"raw control character":   "\"a\x01b\"",
	"delete":                  `"\u007f"`,
	"lone high surrogate":     `"\ud800"`,
	"lone low surrogate":      `"a\udc00"`,
	"surrogates exchanged":    `"\ude00\ud83d"`,
	"surrogate in a name":     `{"\ud800":1}`,
	"invalid UTF-8":           "\"a\xff\"",
	"overlong UTF-8":          "\"\xc0\x80\"",
	"encoded surrogate":       "\"\xed\xa0\x80\"",
	"byte order mark":         "\"\ufeff\"",
	"right to left":           `"\u202egnp.exe"`,
	"noncharacter":            `"\uffff"`,
	"deep arrays":             strings.Repeat("[", 200) + strings.Repeat("]", 200),
	"deep objects":            strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200),
	"very deep arrays":        strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000),
	"unclosed":                strings.Repeat("[", 5_000),
	"number too large":        `1e400`,
	"number too negative":     `-1e400`,
	"number too small":        `1e-400`,
	"integer that rounds":     `9007199254740993`,
	"very long integer":       strings.Repeat("9", 400),
	"long exponent":           `1e999999999999`,
	"duplicate members":       `{"a":1,"a":2}`,
	"duplicate by escape":     `{"a":1,"\u0061":2}`,
	"prototype":               `{"__proto__":{"admin":true},"constructor":1}`,
	"not a number":            `NaN`,
	"leading zero":            `01`,
	"second value":            `1 2`,
	"trailing comma":          `[1,]`,
	"single quotes":           `'x'`,
	"comment":                 `1/*x*/`,
	"SQL":                     `"'; DROP TABLE runs; --"`,
	"JSON within":             `"\"}]}"`,
	"template":                `"${7*7}{{7*7}}%00%s%n\\x00"`,
	"long text":               `"` + strings.Repeat("x", 20_000) + `"`,
	"array for an object":     `[]`,
	"object for a text":       `{}`,
	"truth for a text":        `true`,
	"number for a text":       `0`,
	"false where allow stood": `false`,
}

// place is a member where a caller can put a value.
type place struct {
	name string
	// prepare creates the run. It returns the fence if the caller holds it.
	prepare func(t *testing.T, s *service, runID string) (fence string)
	path    string // with a verb for the run's id
	body    string // with $fence and $value as placeholders
	// read returns the value as the receiver gets it.
	read func(t *testing.T, s *service, runID, fence string) api.JSON
}

func prepareApproval(t *testing.T, s *service, runID string) string {
	waitingRun(t, s.at(0), runID, rig.Approvals("ask"))
	return ""
}

func prepareQuestion(request api.UserQuestionRequest) func(*testing.T, *service, string) string {
	return func(t *testing.T, s *service, runID string) string {
		waitingRun(t, s.at(0), runID, &api.Suspension{Questions: []api.UserQuestionRequest{request}})
		return ""
	}
}

func prepareWork(t *testing.T, s *service, runID string) string {
	return startedRun(t, s.at(0), runID).Lease.Fence
}

func textJSON(t *testing.T, text string) api.JSON {
	t.Helper()
	encoded, err := client.EncodeJSON(text)
	require.NoError(t, err)
	return encoded
}

func readApproval(read func(*testing.T, api.Resolution) api.JSON) func(*testing.T, *service, string, string) api.JSON {
	return func(t *testing.T, s *service, runID, _ string) api.JSON {
		held := mustClaim(t, s.at(1), runID)
		defer complete(t, s.at(1), held)
		return read(t, held.Resume.Approvals[0].Resolution)
	}
}

func readAnswer(read func(*testing.T, api.AnswerForWorker) api.JSON) func(*testing.T, *service, string, string) api.JSON {
	return func(t *testing.T, s *service, runID, _ string) api.JSON {
		held := mustClaim(t, s.at(1), runID)
		defer complete(t, s.at(1), held)
		return read(t, held.Resume.Questions[0].Resolution)
	}
}

var hostilePlaces = []place{
	{
		"updated_input", prepareApproval, "/v1/runs/%s/approvals",
		`{"resolutions":[{"request_id":"ask","behavior":"allow","updated_input":$value}]}`,
		readApproval(func(_ *testing.T, r api.Resolution) api.JSON { return r.UpdatedInput }),
	},
	{
		"justification", prepareApproval, "/v1/runs/%s/approvals",
		`{"resolutions":[{"request_id":"ask","behavior":"allow","justification":$value}]}`,
		readApproval(func(t *testing.T, r api.Resolution) api.JSON { return textJSON(t, r.Justification) }),
	},
	{
		"reason", prepareApproval, "/v1/runs/%s/approvals",
		`{"resolutions":[{"request_id":"ask","behavior":"deny","reason":$value}]}`,
		readApproval(func(t *testing.T, r api.Resolution) api.JSON { return textJSON(t, r.Reason) }),
	},
	{
		"freeform_answer", prepareQuestion(rig.Question("ask")), "/v1/runs/%s/questions",
		`{"resolution":{"request_id":"ask","answers":[{"question_id":"way","freeform_answer":$value}]}}`,
		readAnswer(func(t *testing.T, a api.AnswerForWorker) api.JSON {
			return textJSON(t, a.Answers[0].FreeformAnswer)
		}),
	},
	{
		"value", prepareQuestion(api.UserQuestionRequest{ID: "ask", ResponseSchema: api.JSON(`{}`)}), "/v1/runs/%s/questions",
		`{"resolution":{"request_id":"ask","value":$value}}`,
		readAnswer(func(_ *testing.T, a api.AnswerForWorker) api.JSON { return a.Value }),
	},
	{
		"approval input", prepareWork, "/v1/runs/%s/suspend",
		`{"fence":"$fence","approvals":[{"id":"ask","tool_call_id":"call","tool_name":"tool","input":$value}]}`,
		func(t *testing.T, s *service, runID, _ string) api.JSON {
			run, err := s.at(1).GetRun(rig.Soon(t), runID)
			require.NoError(t, err)
			return run.PendingApprovals[0].Input
		},
	},
	{
		"checkpoint", prepareWork, "/v1/runs/%s/heartbeat", `{"fence":"$fence","checkpoint":$value}`,
		func(t *testing.T, s *service, runID, fence string) api.JSON {
			_, err := s.at(1).ReleaseRun(rig.Soon(t), runID, fence, nil)
			require.NoError(t, err)
			return mustClaim(t, s.at(0), runID).Checkpoint
		},
	},
	{
		"event", prepareWork, "/v1/runs/%s/events", `{"fence":"$fence","events":[{"type":"note","content":$value}]}`,
		func(t *testing.T, s *service, runID, _ string) api.JSON {
			entries, err := s.at(1).ListRunEvents(rig.Soon(t), runID, client.EventListParams{})
			require.NoError(t, err)
			var note struct {
				Content api.JSON `json:"content"`
			}
			require.NoError(t, json.Unmarshal(entries[len(entries)-1].Event, &note))
			return note.Content
		},
	},
	{
		"output", prepareWork, "/v1/runs/%s/complete", `{"fence":"$fence","output":$value}`,
		func(t *testing.T, s *service, runID, _ string) api.JSON {
			run, err := s.at(1).GetRun(rig.Soon(t), runID)
			require.NoError(t, err)
			return run.Output
		},
	},
}

// The bug: a null byte, or an answer of the wrong shape, broke the consumer, and the run was stuck.
// Here such a value is refused and not stored, or it is passed through unchanged. Either way the
// run continues: each value goes to the run that the values before it left waiting.
func TestGallery19HostileValues(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		var refused, carried atomic.Int64
		t.Run("places", func(t *testing.T) {
			for i, at := range hostilePlaces {
				t.Run(at.name, func(t *testing.T) {
					t.Parallel()
					r := &receiver{place: at, service: s, prefix: fmt.Sprintf("run-%d-", i)}
					for name, value := range hostile {
						if r.takes(t, name, value) {
							carried.Add(1)
						} else {
							refused.Add(1)
						}
					}
					require.True(t, r.takes(t, "a harmless text", `"fine"`))
				})
			}
		})
		require.Positive(t, refused.Load())
		require.Positive(t, carried.Load())
	})
}

// receiver sends values to a place, with a new run after each that was taken.
type receiver struct {
	place
	*service
	prefix       string
	runs         int
	runID, fence string
}

// takes sends a value. A value that is taken arrives as it is, and one that is refused leaves no trace.
func (r *receiver) takes(t *testing.T, name, value string) bool {
	t.Helper()
	if r.runID == "" {
		r.runs++
		r.runID = r.prefix + strconv.Itoa(r.runs)
		r.fence = r.prepare(t, r.service, r.runID)
	}
	before := r.lastEvents(t, r.runID)
	body := strings.NewReplacer("$fence", r.fence, "$value", value).Replace(r.body)
	got := r.replicas[0].post(t, fmt.Sprintf(r.path, r.runID), body)
	if got.status >= 300 {
		require.Contains(t, []int{400, 422}, got.status, "%s: %s", name, got.text)
		require.Equal(t, before, r.lastEvents(t, r.runID), name)
		return false
	}
	require.Equal(t, canonical(t, api.JSON(value)), canonical(t, r.read(t, r.service, r.runID, r.fence)), name)
	r.runID = ""
	return true
}
