package kit_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestObjectsKeepTheOrderOfTheirMembers(t *testing.T) {
	t.Parallel()
	object := kit.ObjectOf(api.JSON(`{"b": [1, 2], "a": "\u0041", "c": {}}`))
	require.JSONEq(t, `{"b":[1,2],"a":"A","c":{}}`, string(object.JSON()))
	require.Equal(t, `{"b":[1,2],"a":"A","c":{}}`, string(object.JSON()))
	require.Equal(t, `{"b":[1,2],"a":"\u0041","c":{}}`, string(object.JSON(jsontext.PreserveRawStrings(true))))
	joined := kit.Join(object, nil, kit.Object{{Name: "a", Value: api.JSON(`2`)}, {Name: "d"}})
	require.Equal(t, `{"b":[1,2],"a":"A","c":{},"d":null}`, string(joined.JSON()))
	require.Equal(t, "{}", string(kit.Object(nil).JSON()))
	require.Equal(t, "null", string(kit.Get(api.JSON(`{"a":{"b":null}}`), "a", "b")))
	for _, value := range []string{``, `null`, `[]`, `"{}"`, `{"a":{"c":1}}`, `{"a":[{"b":1}]}`} {
		require.Nil(t, kit.Get(api.JSON(value), "a", "b"), value)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]string{`[]`: {}, `["a","\u0062"]`: {"a", "b"}, `["a",1]`: nil, `[null]`: nil, `"a"`: nil, `{}`: nil, ``: nil} {
		list, ok := kit.Texts(api.JSON(value))
		require.Equal(t, want, list, value)
		require.Equal(t, want != nil, ok, value)
	}
	require.Equal(t, "a b", kit.Label(api.JSON(`"a b"`)))
	require.Equal(t, `{"a":[1,"x y"]}`, kit.Label(api.JSON(`{ "a" : [1, "x y"] }`)))
}

func TestOptionOf(t *testing.T) {
	t.Parallel()
	question := &api.UserQuestion{Options: []api.QuestionOption{
		{ID: "a", Label: "b"}, {ID: "b", Label: "c"}, {ID: "d", Label: "twice"}, {ID: "e", Label: "twice"},
	}}
	for text, want := range map[string]struct {
		id      string
		matches int
	}{"b": {"a", 1}, "c": {"b", 1}, "a": {"a", 1}, "d": {"d", 1}, "twice": {"d", 2}, "none": {"", 0}} {
		id, matches := kit.OptionOf(question, text, nil)
		require.Equal(t, want.id, id, text)
		require.Equal(t, want.matches, matches, text)
	}
}

// Every code that a decision may be refused with is late, unfit, or neither, and never
// both.
func TestLateAndUnfit(t *testing.T) {
	t.Parallel()
	for code, want := range map[api.Code]kit.Late{
		api.CodeApprovalStateConflict: kit.Settled, api.CodeQuestionExpired: kit.Settled, api.CodeQuestionResolutionConflict: kit.Settled,
		api.CodeRunStateConflict: kit.RunOver, api.CodeRequestNotFound: kit.NoRequest, api.CodeRunNotFound: kit.NoRun,
		api.CodeSessionEnded: kit.SessionOver, api.CodeInvalidRequest: kit.NotLate, api.CodeQuestionAnswerEmpty: kit.NotLate,
	} {
		err := error(refusal.New(code, "no"))
		require.Equal(t, want, kit.LateOf(err), code)
		require.Equal(t, want == kit.NotLate, kit.Unfit(err), code)
		require.Equal(t, code, kit.RefusalOf(err).Code)
	}
	require.Equal(t, kit.NotLate, kit.LateOf(errors.New("other")))
	require.Nil(t, kit.RefusalOf(nil))
}
