package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

const (
	firstKey  = "spring:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	secondKey = "autumn:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
)

func secretKeys(tb testing.TB, lines ...string) *sealing.Keys {
	tb.Helper()
	keys, err := sealing.Parse(strings.Join(append(lines, firstKey), "\n"))
	require.NoError(tb, err)
	return keys
}

// secret is a value that only the worker may see.
const secret = "hunter2-c0rrect-h0rse"

// requireHidden checks that no view of the run and its session shows the secret.
func (a *rig) requireHidden(t *testing.T, session, run string) {
	t.Helper()
	for _, path := range []string{
		"/v1/runs/" + run, "/v1/runs/" + run + "/events", "/v1/sessions/" + session, "/v1/sessions/" + session + "/events",
		"/v1/sessions/" + session + "/approvals", "/v1/sessions/" + session + "/questions", "/v1/decisions?session_id=" + session,
		"/v1/effects", "/v1/rules?session_id=" + session, "/v1/runs?session_id=" + session,
	} {
		require.NotContains(t, a.get(t, path).want(http.StatusOK).text, secret, path)
	}
}

func testSecrets(t *testing.T, a *rig) {
	parallel(t, "an answer is for the holder of the fence alone", func(t *testing.T) {
		held := a.claimed(t)
		a.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","questions":[
			{"id":"q","tool_call_id":"c","questions":[{"id":"user","question":"Who?"},{"id":"password","question":"Password?","sensitive":true}]},
			{"id":"typed","tool_call_id":"c","kind":"pin","sensitive":true,"response_schema":{"type":"string","minLength":8}}]}`).want(http.StatusOK)
		// The error does not contain the value.
		bad := a.post(t, "/v1/runs/"+held.run+"/questions", answer("q", `"answers":[{"question_id":"user","freeform_answer":"ada"},{"question_id":"password","selected_option_ids":["`+secret+`"]}]`)).
			refused(api.CodeQuestionOptionNotFound)
		require.NotContains(t, bad.text, secret)
		bad = a.post(t, "/v1/runs/"+held.run+"/questions", answer("typed", `"value":"`+secret[:7]+`"`), expecting(semantic)).refused(api.CodeInvalidRequest)
		require.NotContains(t, bad.text, secret[:7])
		body := answer("q", `"answers":[{"question_id":"user","freeform_answer":"ada"},{"question_id":"password","freeform_answer":"`+secret+`"}]`)
		first := a.post(t, "/v1/runs/"+held.run+"/questions", body, key("k-"+held.run)).want(http.StatusAccepted)
		require.NotContains(t, first.text, secret)
		again := a.post(t, "/v1/runs/"+held.run+"/questions", body, key("k-"+held.run)).want(http.StatusAccepted)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		a.post(t, "/v1/runs/"+held.run+"/questions", strings.Replace(body, secret, secret+"x", 1), key("k-"+held.run)).refused(api.CodeIdempotencyConflict)
		a.post(t, "/v1/sessions/"+held.session+"/questions", answer("typed", `"value":"`+secret+`"`)).want(http.StatusOK)
		a.requireHidden(t, held.session, held.run)
		shown := a.get(t, "/v1/runs/"+held.run)
		require.Equal(t, "Who?: ada\nPassword?: (sensitive)", shown.at("resume", "questions", 0, "resolution", "summary"))
		require.Equal(t, map[string]any{"sensitive": true}, shown.at("resume", "questions", 1, "resolution", "value"))

		claim := a.post(t, "/v1/runs/"+held.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		require.Equal(t, secret, claim.at("resume", "questions", 0, "resolution", "answers", 1, "freeform_answer"))
		require.Equal(t, "Who?: ada\nPassword?: "+secret, claim.at("resume", "questions", 0, "resolution", "summary"))
		require.Equal(t, secret, claim.at("resume", "questions", 1, "resolution", "value"))
		require.Equal(t, map[string]any{"sensitive": true}, claim.at("run", "resume", "questions", 1, "resolution", "value"))
		a.requireHidden(t, held.session, held.run)
		fence := claim.at("lease", "fence").(string)
		require.Contains(t, a.get(t, "/v1/runs/"+held.run+"/resume?fence="+fence).want(http.StatusOK).text, secret)
		a.get(t, "/v1/runs/"+held.run+"/resume?fence="+held.fence).refused(api.CodeLeaseLost)

		// After the run has ended, no one can read it.
		a.post(t, "/v1/runs/"+held.run+"/complete", `{"fence":"`+fence+`"}`).want(http.StatusOK)
		keys, err := a.store.DataKeys(t.Context(), "", 1000)
		require.NoError(t, err)
		for _, one := range keys {
			require.NotEqual(t, held.run, one.RunID, "the data key is still there")
		}
		record, err := a.store.Run(t.Context(), held.run)
		require.NoError(t, err)
		opened, err := runs.OpenRecord(secretKeys(t), record)
		require.NoError(t, err)
		require.Equal(t, record, opened)
		a.requireHidden(t, held.session, held.run)
	})
	parallel(t, "one question after the other", func(t *testing.T) {
		held := a.claimed(t)
		a.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","questions":[
			{"id":"q","tool_call_id":"c","sensitive":true,"questions":[{"id":"one","question":"One?"},{"id":"two","question":"Two?"}]}]}`).want(http.StatusOK)
		part := func(id, text string) error {
			command := &runs.AnswerQuestion{RunID: held.run, Partial: true, Resolution: runs.QuestionAnswer{
				RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: id, FreeformAnswer: text}},
			}}
			_, err := a.store.Do(t.Context(), &runs.Call{Command: command, Sealer: secretKeys(t)})
			return err
		}
		require.NoError(t, part("two", secret+"-2"))
		a.requireHidden(t, held.session, held.run)
		require.Equal(t, []any{map[string]any{"question_id": "two", "sensitive": true}}, a.get(t, "/v1/runs/"+held.run).at("pending_questions", 0, "partial_answers"))
		require.NoError(t, part("one", secret+"-1"))
		a.requireHidden(t, held.session, held.run)
		claim := a.post(t, "/v1/runs/"+held.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
		require.Equal(t, "One?: "+secret+"-1\nTwo?: "+secret+"-2", claim.at("resume", "questions", 0, "resolution", "summary"))
	})
	parallel(t, "an edit of an input with a sensitive value in another one", func(t *testing.T) {
		for _, paths := range []string{`"/env/sensitive","/env"`, `"/env","/env/sensitive"`} {
			held := a.claimed(t)
			raised := a.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","hold":true,"approvals":[
				{"id":"a","tool_call_id":"c","tool_name":"psql","input":{"sql":"select 1","env":{"sensitive":"`+secret+`"}},"sensitive_paths":[`+paths+`]},
				{"id":"b","tool_call_id":"d","tool_name":"psql","input":{"sql":"select 1","env":{"sensitive":"`+secret+`"}},"sensitive_paths":[`+paths+`]}]}`).want(http.StatusOK)
			require.Equal(t, map[string]any{"sensitive": true}, raised.at("run", "pending_approvals", 0, "input", "env"))
			a.post(t, "/v1/runs/"+held.run+"/approvals", `{"resolutions":[
				{"request_id":"a","behavior":"allow","updated_input":{"sql":"select 2","env":{"sensitive":true}}},
				{"request_id":"b","behavior":"allow","updated_input":{"sql":"select 3","env":{}}}]}`).want(http.StatusAccepted)
			a.requireHidden(t, held.session, held.run)
			settled := a.get(t, "/v1/runs/"+held.run+"/resume?fence="+held.fence).want(http.StatusOK)
			require.Equal(t, map[string]any{"sql": "select 2", "env": map[string]any{"sensitive": secret}}, settled.at("settled", 0, "resolution", "updated_input"))
			require.Equal(t, map[string]any{"sql": "select 3", "env": map[string]any{}}, settled.at("settled", 1, "resolution", "updated_input"))
		}
	})
	parallel(t, "an edit of a list with sensitive values", func(t *testing.T) {
		held := a.claimed(t)
		a.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","hold":true,"approvals":[{"id":"a","tool_call_id":"c","tool_name":"mail",
			"input":{"to":[{"name":"ada","key":"`+secret+`-1"},{"name":"ben","key":"`+secret+`-2"},{"name":"cyd"}]},"sensitive_paths":["/to/0/key","/to/1/key"]}]}`).want(http.StatusOK)
		edit := func(to string, options ...option) *reply {
			return a.post(t, "/v1/runs/"+held.run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","updated_input":{"to":`+to+`}}]}`, options...)
		}
		// Each would give a key to somebody else.
		for _, to := range []string{
			`[{"name":"ben","key":{"sensitive":true}},{"name":"ada","key":{"sensitive":true}},{"name":"cyd"}]`,
			`[{"name":"dan","key":{"sensitive":true}},{"name":"ada","key":{"sensitive":true}},{"name":"ben","key":{"sensitive":true}},{"name":"cyd"}]`,
			`[{"name":"ben","key":{"sensitive":true}},{"name":"cyd","key":"x"}]`,
			`{"0":{"name":"ben","key":{"sensitive":true}},"1":{"key":"x"}}`,
		} {
			refused := edit(to, expecting(semantic)).refused(api.CodeInvalidRequest)
			require.Contains(t, refused.textAt("errors", 0, "detail"), "may have moved the sensitive value at /to/0/key", to)
			require.NotContains(t, refused.text, secret)
		}
		edit(`[{"name":"ada","key":{"sensitive":true},"cc":true},{"name":"ben","key":"` + secret + `-3"},{"name":"eve"}]`).want(http.StatusAccepted)
		a.requireHidden(t, held.session, held.run)
		settled := a.get(t, "/v1/runs/"+held.run+"/resume?fence="+held.fence).want(http.StatusOK)
		require.Equal(t, []any{map[string]any{"name": "ada", "key": secret + "-1", "cc": true}, map[string]any{"name": "ben", "key": secret + "-3"}, map[string]any{"name": "eve"}},
			settled.at("settled", 0, "resolution", "updated_input", "to"))
	})
	parallel(t, "an input, and its edit", func(t *testing.T) {
		held := a.claimed(t)
		raise := func(paths string, options ...option) *reply {
			return a.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","suspension_id":"s","hold":true,"approvals":[{"id":"a","tool_call_id":"c","tool_name":"psql",
				"input":{"sql":"select 1","env":{"PGPASSWORD":"`+secret+`"}},"input_schema":{"properties":{"env":{"properties":{"PGPASSWORD":{"type":"string"}}}}},"sensitive_paths":[`+paths+`]}]}`, options...)
		}
		require.Equal(t, "/approvals/0/sensitive_paths/1", raise(`"/env/PGPASSWORD","/env/TOKEN"`, expecting(semantic)).refused(api.CodeInvalidRequest).at("errors", 0, "pointer"))
		raise(`"env"`, expecting(semantic)).refused(api.CodeInvalidRequest)
		raised := raise(`"/env/PGPASSWORD"`).want(http.StatusOK)
		digest := raised.at("run", "pending_approvals", 0, "input_digest").(string)
		require.Contains(t, digest, "hmac-sha256:")
		require.Equal(t, map[string]any{"sql": "select 1", "env": map[string]any{"PGPASSWORD": map[string]any{"sensitive": true}}}, raised.at("run", "pending_approvals", 0, "input"))
		require.Equal(t, "true", raise(`"/env/PGPASSWORD"`).want(http.StatusOK).header.Get("Idempotency-Replayed"))
		a.requireHidden(t, held.session, held.run)
		decide := func(input string, options ...option) *reply {
			return a.post(t, "/v1/runs/"+held.run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","input_digest":"`+digest+`","updated_input":`+input+`}]}`, options...)
		}
		decide(`{"sql":"select 2","env":{}}`, expecting(semantic)).refused(api.CodeInvalidRequest)
		bad := decide(`{"sql":"select 2","env":{"PGPASSWORD":["`+secret+`"]}}`, expecting(semantic)).refused(api.CodeInvalidRequest)
		require.NotContains(t, bad.text, secret)
		decide(`{"sql":"select 2","env":{"PGPASSWORD":{"sensitive":true}}}`).want(http.StatusAccepted)
		a.requireHidden(t, held.session, held.run)
		settled := a.get(t, "/v1/runs/"+held.run+"/resume?fence="+held.fence).want(http.StatusOK)
		require.Equal(t, secret, settled.at("settled", 0, "request", "input", "env", "PGPASSWORD"))
		require.Equal(t, map[string]any{"sql": "select 2", "env": map[string]any{"PGPASSWORD": secret}}, settled.at("settled", 0, "resolution", "updated_input"))

		// A rule for exactly this input matches by its keyed digest and reveals nothing.
		again := func(id string) *reply {
			return a.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","hold":true,"approvals":[{"id":"`+id+`","tool_call_id":"c","tool_name":"psql","input":{"p":"`+secret+`"},"sensitive_paths":["/p"]}]}`).want(http.StatusOK)
		}
		again("b")
		a.post(t, "/v1/runs/"+held.run+"/approvals", `{"resolutions":[{"request_id":"b","behavior":"allow","remember":"session"}]}`).want(http.StatusAccepted)
		a.requireHidden(t, held.session, held.run)
		require.Equal(t, "running", again("c").at("run", "status"))
	})
	parallel(t, "a run that is made waiting", func(t *testing.T) {
		body := `{"input":1,"claim":{"worker_id":"w"},"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":"` + secret + `","sensitive_paths":[""]}]}}`
		name := a.name("made")
		made := a.post(t, "/v1/runs", body, key(name)).want(http.StatusAccepted)
		require.NotContains(t, made.text, secret)
		again := a.post(t, "/v1/runs", body, key(name)).want(http.StatusAccepted)
		require.Equal(t, made.at("run_id"), again.at("run_id"))
		a.post(t, "/v1/runs", strings.Replace(body, secret, "other", 1), key(name)).refused(api.CodeIdempotencyConflict)
	})
	parallel(t, "without a key nothing sensitive is raised", func(t *testing.T) {
		without := serve(t, a.store, a.contract, func(o *httpapi.Options) { o.Sealer = nil })
		held := a.claimed(t)
		without.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","questions":[{"id":"q","tool_call_id":"c","sensitive":true,"questions":[{"question":"Why?"}]}]}`).
			refused(api.CodeSecretsNotConfigured)
		without.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":{"a":1},"sensitive_paths":["/a"]}]}`).
			refused(api.CodeSecretsNotConfigured)
		without.post(t, "/v1/runs", `{"input":1,"claim":{"worker_id":"w"},"suspend":{"questions":[{"id":"q","tool_call_id":"c","questions":[{"question":"Why?","sensitive":true}]}]}}`).
			refused(api.CodeSecretsNotConfigured)
		require.Equal(t, "running", a.get(t, "/v1/runs/"+held.run).at("status"))
	})
	parallel(t, "another key opens nothing, an older one does", func(t *testing.T) {
		held := a.claimed(t)
		a.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","questions":[{"id":"q","tool_call_id":"c","sensitive":true,"questions":[{"id":"one","question":"One?"}]}]}`).want(http.StatusOK)
		other, err := sealing.Parse(secondKey)
		require.NoError(t, err)
		// The database did answer, and who operates a replica is not sent to look at it.
		stranger := serve(t, a.store, a.contract, func(o *httpapi.Options) { o.Sealer = other })
		said := stranger.post(t, "/v1/runs/"+held.run+"/questions", answer("q", `"answers":[{"question_id":"one","freeform_answer":"`+secret+`"}]`)).refused(wire.CodeServiceUnavailable)
		require.Contains(t, said.at("detail"), "other secret keys")
		a.post(t, "/v1/runs/"+held.run+"/questions", answer("q", `"answers":[{"question_id":"one","freeform_answer":"`+secret+`"}]`)).want(http.StatusAccepted)
		record, err := a.store.Run(t.Context(), held.run)
		require.NoError(t, err)
		_, err = runs.OpenRecord(other, record)
		require.ErrorIs(t, err, runs.ErrUnavailable)

		rotated := secretKeys(t, secondKey)
		rewrapped, err := rotated.Rewrap(record.Run.DataKey)
		require.NoError(t, err)
		_, err = a.store.Do(t.Context(), &runs.RewrapDataKey{RunKey: reads.RunKey{RunID: held.run, SessionID: held.session, DataKey: record.Run.DataKey}, Rewrapped: rewrapped})
		require.NoError(t, err)
		record, err = a.store.Run(t.Context(), held.run)
		require.NoError(t, err)
		_, err = runs.OpenRecord(secretKeys(t), record)
		require.ErrorIs(t, err, runs.ErrUnavailable)
		opened, err := runs.OpenRecord(other, record)
		require.NoError(t, err)
		require.Equal(t, secret, opened.Resume().Questions[0].Resolution.Answers[0].FreeformAnswer)
	})
	parallel(t, "a parent is asked nothing sensitive", func(t *testing.T) {
		a.ask(t, a.child(t, a.parent(t)), `{"id":"q","tool_call_id":"c","sensitive":true,"questions":[{"question":"Why?"}]}`, "", expecting(semantic)).refused(api.CodeInvalidRequest)
	})
}
