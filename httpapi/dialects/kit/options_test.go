package kit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// Labels may contain commas. An ambiguous list is read as no options.
func TestOptionsOfAList(t *testing.T) {
	t.Parallel()
	asked := func(labels ...string) *api.UserQuestion {
		question := &api.UserQuestion{ID: "q", MultiSelect: true}
		for i, label := range labels {
			question.Options = append(question.Options, api.QuestionOption{ID: string(rune('a' + i)), Label: label})
		}
		return question
	}
	health := "Health, longevity and performance"
	two := asked(health, "Sports")
	four := asked(health, "Sports", "longevity and performance", "Health")
	for _, test := range []struct {
		question  *api.UserQuestion
		text      string
		ids       []string
		ambiguous bool
	}{
		{two, health + ", Sports", []string{"a", "b"}, false},
		{two, "Sports, " + health, []string{"b", "a"}, false},
		{two, "Sports,Sports", []string{"b"}, false},
		{two, "b," + health, []string{"b", "a"}, false},
		{two, "Health, Sports", nil, false},
		{two, "Sports,", nil, false},
		{two, "", nil, false},
		{four, health + ", Sports", nil, true},
		{four, "Sports, Health", []string{"b", "d"}, false},
		{four, "longevity and performance, Health", []string{"c", "d"}, false},
		{asked("A, B", "A", "B"), "A, B, A, B", nil, true},
		{asked("A", "A"), "A, b", nil, true},
		{asked("A, B"), "A, B, A, B", []string{"a"}, false},
	} {
		ids, ambiguous := kit.OptionsOf(test.question, test.text)
		require.Equal(t, test.ids, ids, test.text)
		require.Equal(t, test.ambiguous, ambiguous, test.text)
	}
}

func TestWhatAnOptionStandsFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ schema, option, value string }{
		{`{}`, `{"label":"A","id":"a","value":1}`, `1`},
		{`{}`, `{"label":"A","id":"a","value":null}`, `null`},
		{`{"enum":["A"]}`, `{"label":"A","id":"a","value":false}`, `false`},
		{`{}`, `{"label":"A","id":"a"}`, `"a"`},
		{`{}`, `{"label":"A","id":7}`, `7`},
		{`{}`, `{"label":"A"}`, `"A"`},
		{`{"enum":["A"]}`, `{"label":"\u0041","id":"a"}`, `"\u0041"`},
		{`{"items":{"enum":["A"]}}`, `{"label":"A","id":"a"}`, `"A"`},
		{`{"enum":["A","a"]}`, `{"label":"A","id":"a"}`, `"a"`},
		{`{"enum":["B"]}`, `{"label":"A","id":"a"}`, `"a"`},
		{`{"enum":["A",7]}`, `{"label":"A","id":7}`, `7`},
		{`{}`, `{"description":"x"}`, ``},
		{`true`, `"A"`, ``},
	} {
		require.Equal(t, test.value, string(kit.EnumOf(api.JSON(test.schema)).ValueOf(api.JSON(test.option))), "%s %s", test.schema, test.option)
	}
}
