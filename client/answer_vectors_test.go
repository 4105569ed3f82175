package client_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
)

// answerVectors are the test vectors that every library that verifies signed answers must pass.
type answerVectors struct {
	Keys    api.KeySet     `json:"keys"`
	Answers []answerVector `json:"answers"`
}

// answerVector is a resolution as a worker gets it, as JSON text, and the expected outcome: "ok" or an error code.
type answerVector struct {
	Name       string `json:"name"`
	Resolution string `json:"resolution"`
	Result     string `json:"result"`
}

// TestAnswerVectors checks VerifyAnswer with the same vectors as the other libraries (test/sdk).
func TestAnswerVectors(t *testing.T) {
	t.Parallel()
	vectors := keptVectors(t, "../docs/spec/answer-vectors.json", makeAnswerVectors(t))
	for _, vector := range vectors.Answers {
		var resolution api.AnswerForWorker
		require.NoError(t, json.Unmarshal([]byte(vector.Resolution), &resolution), vector.Name)
		claims, err := client.VerifyAnswer(vectors.Keys, &resolution)
		switch wanted := map[string]error{"invalid_answer": client.ErrAnswerInvalid, "answer_expired": client.ErrAnswerExpired}[vector.Result]; {
		case wanted != nil:
			require.ErrorIs(t, err, wanted, vector.Name)
		default:
			require.NoError(t, err, vector.Name)
			require.Equal(t, "request_1", claims.JTI)
		}
	}
}

func makeAnswerVectors(t *testing.T) *answerVectors {
	t.Helper()
	keys, set := seededKeys(t, 1)
	stranger, _ := seededKeys(t, 2)
	vectors := &answerVectors{Keys: set}
	const chosen = `[{"question_id":"when","header":"","question":"When?","selected_option_ids":["later"],"selected_options":[{"id":"later","label":"Später"}]}]`
	sign := func(by *signing.Keys, purpose, signed string, exp int64) string {
		digest, err := client.InputDigest(api.JSON(signed))
		require.NoError(t, err)
		payload, err := json.Marshal(api.AnswerClaims{
			Iss: "holdpoint", Aud: "coder", Sub: "run_1", RequestID: "q", AnswersDigest: digest, Fence: "3",
			Iat: 1_750_000_000, Exp: exp, JTI: "request_1", ResolvedBy: "user:mara",
		})
		require.NoError(t, err)
		text, err := by.Sign(purpose, payload)
		require.NoError(t, err)
		return text
	}
	const never = 253_402_300_799
	add := func(name, members, signature, result string) {
		vectors.Answers = append(vectors.Answers, answerVector{name, `{"declined":false,"summary":"","justification":null,"via":"api","resolved_at_ms":1,` +
			members + `,"signature":"` + signature + `"}`, result})
	}
	const to = `"request_id":"q","outcome":"answered","resolved_by":"user:mara"`
	choice := sign(keys, api.AnswerPurpose, `{"answers":`+chosen+`}`, never)
	add("a choice", to+`,"answers":`+chosen, choice, "ok")
	add("its members in another order", `"answers":[{"selected_options":[{"label":"Sp\u00e4ter","id":"later"}],"question":"When?","selected_option_ids":["later"],"header":"","question_id":"when"}],`+to, choice, "ok")
	const value = `{"id":9007199254740993,"ratio":1.50}`
	valued := sign(keys, api.AnswerPurpose, `{"answers":[],"value":`+value+`}`, never)
	add("a value", to+`,"answers":[],"value":{"ratio":1.5,"id":9007199254740993}`, valued, "ok")
	add("null as a value", to+`,"answers":[],"value":null`, sign(keys, api.AnswerPurpose, `{"answers":[],"value":null}`, never), "ok")
	add("a value that is rounded", to+`,"answers":[],"value":{"ratio":1.5,"id":9007199254740992}`, valued, "invalid_answer")
	add("no value", to+`,"answers":[]`, valued, "invalid_answer")
	add("another option", to+`,"answers":[{"question_id":"when","header":"","question":"When?","selected_option_ids":["now"],"selected_options":[{"id":"now","label":"Now"}]}]`, choice, "invalid_answer")
	add("another question", to+`,"answers":[{"question_id":"when","header":"","question":"Delete it when?","selected_option_ids":["later"],"selected_options":[{"id":"later","label":"Später"}]}]`, choice, "invalid_answer")
	add("another request", `"request_id":"p","outcome":"answered","resolved_by":"user:mara","answers":`+chosen, choice, "invalid_answer")
	add("another principal", `"request_id":"q","outcome":"answered","resolved_by":"user:mallory","answers":`+chosen, choice, "invalid_answer")
	add("another outcome", `"request_id":"q","outcome":"declined","resolved_by":"user:mara","answers":`+chosen, choice, "invalid_answer")
	add("expired", to+`,"answers":`+chosen, sign(keys, api.AnswerPurpose, `{"answers":`+chosen+`}`, 1_750_000_060), "answer_expired")
	add("by a key that is not given", to+`,"answers":`+chosen, sign(stranger, api.AnswerPurpose, `{"answers":`+chosen+`}`, never), "invalid_answer")
	add("signed for another purpose", to+`,"answers":`+chosen, sign(keys, api.GrantPurpose, `{"answers":`+chosen+`}`, never), "invalid_answer")
	add("no signature", to+`,"answers":`+chosen, "", "invalid_answer")
	add("no answers", to, choice, "invalid_answer")
	add("no request", `"outcome":"answered","resolved_by":"user:mara","answers":`+chosen, choice, "invalid_answer")
	add("padded", to+`,"answers":`+chosen, choice+"=", "invalid_answer")
	return vectors
}
