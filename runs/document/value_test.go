package document_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// TestValuesPutTogether: documents joined from parts have the same canonical form as when
// encoded whole.
func TestValuesPutTogether(t *testing.T) {
	t.Parallel()
	type form struct {
		Zeta  api.JSON `json:"zeta,omitzero"`
		A     string   `json:"a"`
		AB    int      `json:"a_b"`
		Text  string   `json:"text"`
		Empty []string `json:"empty,omitempty"`
	}
	same := func(value document.Value) {
		t.Helper()
		canonical := jsontext.Value(value.Text).Clone()
		require.NoError(t, canonical.Canonicalize(), "%s", value.Text)
		require.Equal(t, string(canonical), string(value.Canonical))
	}
	for _, zeta := range []api.JSON{nil, api.JSON(`1`), api.JSON(` { "b" : 1.0, "a": "\u0041", "\ufb33": 1, "\ud83d\ude00": 2 } `)} {
		whole := form{Zeta: zeta, A: "x", AB: 2, Text: "<é\u2028\x01>"}
		value, err := document.ValueOf(whole)
		require.NoError(t, err)
		same(value)
		object, err := document.ObjectOf(whole)
		require.NoError(t, err)
		same(object.Value())
		require.Equal(t, string(value.Canonical), string(object.Value().Canonical))
		with := object.With("a_b_c", document.Integer(-7)).With("a", value).With("0", document.Array([]document.Value{value, document.Integer(1), value}))
		same(with.Value())
		require.Equal(t, string(value.Canonical), string(object.Value().Canonical), "an object stays as it is")
		same(object.And(with).Value())
		same(with.And(object).Value())
	}
	same(document.Object{}.Value())
	same(document.Array(nil))
	_, err := document.ValueOf(api.JSON(`{"a":1,"a":2}`))
	require.Error(t, err)
	_, err = document.ObjectOf([]int{1})
	require.Error(t, err)
	require.Panics(t, func() { document.OwnValue(api.JSON(`{`)) })
	require.Panics(t, func() { document.OwnObject(7) })
}
