package codex

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func TestSensitiveQuestionsAreSecret(t *testing.T) {
	t.Parallel()
	for name, questions := range map[string]struct {
		raised string
		secret []bool
	}{
		"request":  {`{"sensitive":true,"questions":[{"id":"x","question":"X?"},{"id":"y","question":"Y?"}]}`, []bool{true, true}},
		"question": {`{"questions":[{"id":"x","question":"X?","sensitive":true},{"id":"y","question":"Y?"}]}`, []bool{true, false}},
		"typed":    {`{"sensitive":true,"response_schema":{"type":"string"}}`, []bool{true}},
		"none":     {`{"response_schema":{"type":"string"}}`, []bool{false}},
	} {
		var request api.UserQuestionRequest
		require.NoError(t, json.Unmarshal([]byte(questions.raised), &request))
		shown := questionsOf(&request)
		require.Len(t, shown, len(questions.secret), name)
		for i := range shown {
			require.Equal(t, questions.secret[i], shown[i].IsSecret, "%s %d", name, i)
		}
	}
}
