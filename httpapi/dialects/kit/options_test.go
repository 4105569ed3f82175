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
