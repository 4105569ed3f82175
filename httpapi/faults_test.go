package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// pointers returns the pointers of the faults of a refusal, in their order.
func (r *reply) pointers() []string {
	r.t.Helper()
	var pointers []string
	for i := range r.list("errors") {
		pointers = append(pointers, r.textAt("errors", i, "pointer"))
	}
	return pointers
}

func testFaultsOfBodies(t *testing.T, a *rig) {
	parallel(t, "all of them are listed, of the schema and of the domain", func(t *testing.T) {
		for _, bad := range []struct {
			path, body string
			pointers   []string
		}{
			{"/v1/runs/nobody/questions", `{"resolution":{"request_id":"q","answers":[{"selected_option_ids":["a"]}]}}`, []string{"/resolution/answers/0/question_id"}},
			{"/v1/runs/nobody/questions", `{"resolution":{"request_id":null,"answers":[{"question_id":null},null],"declined":"no"}}`, []string{
				"/resolution/answers/0/question_id", "/resolution/answers/1", "/resolution/declined", "/resolution/request_id",
			}},
			{"/v1/runs/nobody/approvals", `{"resolutions":[{"request_id":7,"behavior":"maybe","remember":"twice"},null,{"behavior":"allow","reason":[]}]}`, []string{
				"/resolutions/0/request_id", "/resolutions/1", "/resolutions/2/reason", "/resolutions/2/request_id", "/resolutions/0/behavior", "/resolutions/0/remember",
			}},
			{"/v1/runs/nobody/suspend", `{"approvals":[{"id":"a","tool_call_id":7,"tool_name":"x","input":{},"expires_after_ms":0},null],"questions":[{"questions":[{"options":[null]}]}]}`, []string{
				"/approvals/0/tool_call_id", "/approvals/1", "/questions/0/questions/0/options/0", "/questions/0/questions/0/question", "/fence",
				"/approvals/0/expires_after_ms", "/questions/0/id",
			}},
			{"/v1/runs/nobody/heartbeat", `{"fence":"x","lease_ms":7,"settled_after":3}`, []string{"/settled_after", "/fence", "/lease_ms"}},
			{"/v1/runs/claim", `{"max_runs":"9","lease_ms":1,"agent_ids":["","b"]}`, []string{"/max_runs", "/worker_id", "/agent_ids/0", "/lease_ms"}},
			{"/v1/runs", `{"run_id":"","input":1,"claim":{"lease_ms":true},"suspend":{"approvals":{}}}`, []string{"/claim/lease_ms", "/claim/worker_id", "/suspend/approvals", "/run_id"}},
			{"/v1/rules", `{"effect":7,"match":null,"max_uses":0}`, []string{"/effect", "/match", "/max_uses"}},
			{"/v1/runs/nobody/clarifications", `{"fence":7,"request":null,"park":"yes"}`, []string{"/fence", "/park", "/request"}},
			{"/v1/runs/nobody/events", `{"events":null}`, []string{"/fence", "/events"}},
		} {
			require.Equal(t, bad.pointers, a.post(t, bad.path, bad.body).refused(api.CodeInvalidRequest).pointers(), bad.body)
		}
	})
	parallel(t, "a mistyped updated_input never allows the input as it was", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		for _, path := range []string{"/v1/runs/" + run.run + "/approvals", "/v1/sessions/" + run.session + "/approvals", "/v1/sessions/" + run.session + "/approval-runs"} {
			refused := a.post(t, path, `{"resolutions":[{"request_id":"a1","behavior":"allow","update_input":{"command":"ls"}}]}`).refused(api.CodeInvalidRequest)
			require.Equal(t, []string{"/resolutions/0/update_input"}, refused.pointers())
			require.Contains(t, refused.textAt("errors", 0, "detail"), "updated_input")
			require.Equal(t, "waiting_for_approval", a.get(t, "/v1/runs/"+run.run).at("status"))
		}
		a.post(t, "/v1/runs/"+run.run+"/approvals", `{"update_input":1,"resolutions":[{"request_id":"a1","behavior":"allow","updated_input":{"command":"ls"}}]}`).want(http.StatusAccepted)
	})
	parallel(t, "members that are not described", func(t *testing.T) {
		for _, bad := range []struct{ path, body, pointer string }{
			{"/v1/runs/nobody/questions", `{"resolution":{"request_id":"q","decline":true}}`, "/resolution/decline"},
			{"/v1/runs/nobody/questions", `{"resolution":{"request_id":"q","answers":[{"question_id":"a","selected":["x"]}]}}`, "/resolution/answers/0/selected"},
			{"/v1/runs/nobody/suspend", `{"fence":"1","approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":{},"expires_in_ms":5}]}`, "/approvals/0/expires_in_ms"},
			{"/v1/runs", `{"input":1,"suspend":{"questions":[{"id":"q","schema":{},"questions":[{"question":"?"}]}]}}`, "/suspend/questions/0/schema"},
			{"/v1/runs", `{"input":1,"suspend":{"questions":[{"id":"q","questions":[{"question":"?","multiselect":true}]}]}}`, "/suspend/questions/0/questions/0/multiselect"},
			{"/v1/runs", `{"input":1,"suspend":{"questions":[{"id":"q","questions":[{"question":"?","options":[{"name":"x"}]}]}]}}`, "/suspend/questions/0/questions/0/options/0/name"},
			{"/v1/runs/nobody/clarifications", `{"fence":"1","request":{"id":"q","questions":[{"question":"?"}],"park":true}}`, "/request/park"},
			{"/v1/rules", `{"match":{"any_input":true},"tool_name":"x","expires_in_ms":1}`, "/expires_in_ms"},
			{"/v1/rules", `{"match":{"any_input":true,"agent":"x"},"tool_name":"x"}`, "/match/agent"},
		} {
			require.Equal(t, []string{bad.pointer}, a.post(t, bad.path, bad.body).refused(api.CodeInvalidRequest).pointers(), bad.body)
		}
		a.post(t, "/v1/runs", `{"input":1,"colour":"red","claim":{"worker_id":"w","colour":"red"},"suspend":{"colour":"red","approvals":[`+approval("a")+`]}}`).want(http.StatusAccepted)
	})
	parallel(t, "an empty text is not an absent one", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		for _, bad := range []struct{ path, body, pointer string }{
			{"/v1/runs/" + run.run + "/approvals", `{"resolutions":[{"request_id":"a1","behavior":"allow","input_digest":""}]}`, "/resolutions/0/input_digest"},
			{"/v1/runs/" + run.run + "/approvals", `{"resolutions":[{"request_id":"a1","behavior":"allow","handle":""}]}`, "/resolutions/0/handle"},
			{"/v1/runs/" + run.run + "/approvals", `{"resolutions":[{"request_id":"a1","behavior":"deny","remember":"","remember_as":""}]}`, "/resolutions/0/remember"},
			{"/v1/rules", `{"tool_name":"x","effect":"","match":{"any_input":true}}`, "/effect"},
			{"/v1/rules", `{"tool_name":"x","match":{"params":{"a":"*"},"input_digest":""}}`, "/match/input_digest"},
			{"/v1/rules", `{"tool_name":"x","match":{"params":{"a":"*"},"tool_call_id":""}}`, "/match/tool_call_id"},
			{"/v1/tokens", `{"name":"x","role":"operator","on_behalf_of":""}`, "/on_behalf_of"},
			{"/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"x","input":{},"escalation":{"at_deadline":""}}]}}`, "/suspend/approvals/0/escalation/at_deadline"},
		} {
			require.Contains(t, a.post(t, bad.path, bad.body, unchecked()).refused(api.CodeInvalidRequest).pointers(), bad.pointer, bad.body)
		}
		require.Equal(t, "waiting_for_approval", a.get(t, "/v1/runs/"+run.run).at("status"))
	})
	parallel(t, "a long list of faults ends", func(t *testing.T) {
		body := `{"resolutions":[` + strings.TrimSuffix(strings.Repeat("null,", 5000), ",") + `]}`
		require.Len(t, a.post(t, "/v1/runs/nobody/approvals", body).refused(api.CodeInvalidRequest).list("errors"), api.MaxFaults)
	})
}

// bodyTypes are the types that the bodies of the operations are read into.
var bodyTypes = map[string]reflect.Type{
	"Redact":  reflect.TypeFor[api.RedactBody](),
	"AddRule": reflect.TypeFor[api.AddRuleBody](), "AnswerQuestion": reflect.TypeFor[api.AnswerQuestionBody](),
	"AppendEvents": reflect.TypeFor[api.AppendEventsBody](), "AskParent": reflect.TypeFor[api.AskParentBody](),
	"CancelQuestion": reflect.TypeFor[api.CancelQuestionBody](), "ClaimRun": reflect.TypeFor[api.ClaimRunBody](),
	"ClaimRuns": reflect.TypeFor[api.ClaimRunsBody](), "Complete": reflect.TypeFor[api.CompleteBody](),
	"CreateRun": reflect.TypeFor[api.CreateRunBody](), "CreateSession": reflect.TypeFor[api.CreateSessionBody](), "AmendSession": reflect.TypeFor[api.AmendSessionBody](),
	"CreateStreamTicket": reflect.TypeFor[api.CreateStreamTicketBody](), "CreateToken": reflect.TypeFor[api.CreateTokenBody](),
	"CreateSessionRun": reflect.TypeFor[api.SessionRunBody](), "ExplainRules": reflect.TypeFor[api.ExplainRulesBody](),
	"Fail": reflect.TypeFor[api.FailBody](), "Heartbeat": reflect.TypeFor[api.HeartbeatBody](), "Nothing": reflect.TypeFor[struct{}](),
	"Reason": reflect.TypeFor[api.ReasonBody](), "Release": reflect.TypeFor[api.ReleaseBody](),
	"RetryRun": reflect.TypeFor[api.RetryRunBody](), "RedeemGrant": reflect.TypeFor[api.RedeemGrantBody](), "RotateToken": reflect.TypeFor[api.RotateTokenBody](), "RotateWebhook": reflect.TypeFor[api.RotateWebhookBody](), "WebhookBody": reflect.TypeFor[api.WebhookBody](),
	"ResolveApprovals": reflect.TypeFor[api.ResolveApprovalsBody](), "Suspend": reflect.TypeFor[api.SuspendBody](),
	"Withdraw":            reflect.TypeFor[api.WithdrawBody](),
	"AcknowledgementBody": reflect.TypeFor[api.AcknowledgementBody](), "QuietHours": reflect.TypeFor[api.QuietHours](), "PresenceBody": reflect.TypeFor[api.PresenceBody](), "AddressBody": reflect.TypeFor[api.AddressBody](), "VerifyAddressBody": reflect.TypeFor[api.VerifyAddressBody](),
	"PushBody":        reflect.TypeFor[api.PushBody](),
	"TestChannelBody": reflect.TypeFor[api.TestChannelBody](),
}

// TestBodiesAreReadAsTheDocumentDescribesThem holds the members, required members and closed
// objects of every body to openapi.yaml.
func TestBodiesAreReadAsTheDocumentDescribesThem(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for path, item := range loadDocument(t).Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.RequestBody == nil {
				continue
			}
			schema := operation.RequestBody.Value.Content["application/json"].Schema
			name := strings.TrimPrefix(schema.Ref, "#/components/schemas/")
			require.Contains(t, bodyTypes, name, "%s %s", method, path)
			requireShape(t, name, schema.Value, bodyTypes[name])
			read[name] = true
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(bodyTypes)), slices.Collect(maps.Keys(read)))
}

func requireShape(t *testing.T, at string, schema *openapi3.Schema, of reflect.Type) {
	t.Helper()
	shape := document.ShapeOf(of)
	closed := schema.AdditionalProperties.Has != nil && !*schema.AdditionalProperties.Has
	require.Equal(t, closed, shape.Closed(), "%s: is it closed?", at)
	require.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties)), shape.Names(), "%s: members", at)
	require.ElementsMatch(t, schema.Required, shape.Required(), "%s: required members", at)
	fields, left := map[string]reflect.Type{}, map[string]bool{} // left: left out by a client when it is empty
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name], left[name] = field.Type, strings.HasPrefix(options, "omit")
	}
	for name, property := range schema.Properties {
		inner, field := property.Value, fields[name]
		// The text of a pointer is checked where it is used, because an empty one differs from an absent one there.
		if optional := left[name] && !slices.Contains(schema.Required, name); optional && field.Kind() == reflect.String && name != "traceparent" { // set by the service, and ignored in a body
			assert.Equal(t, inner.VisitJSON("") != nil, shape.Member(name).Filled(), "%s/%s: is an empty text refused?", at, name)
		}
		for field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice && inner.Items != nil {
			if field.Kind() == reflect.Slice {
				inner = inner.Items.Value
			}
			field = field.Elem()
		}
		if len(inner.Properties) > 0 && field.Kind() == reflect.Struct {
			requireShape(t, fmt.Sprintf("%s/%s", at, name), inner, field)
		}
	}
}
