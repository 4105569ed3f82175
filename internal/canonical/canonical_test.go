package canonical_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/canonical"
)

// FuzzObject: an object has the form that jsontext gives it, or none if it has none there, and its
// text stays as it was.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"b":1.0,"a":[2e0, {"d":"x","c":null}]}`, `{"ab":1,"a":true,"a b":false,"a!":"","a\"":"\\"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew","1":"One","\ud83d\ude00":"Emoji","\u0080":"Control","ö":"Latin"}`,
		`{"text":"\u0041\/","type":"x","n":-0,"large":1e400}`, `{"a":1,"a":2}`, `{"a":1}{}`, `[]`, `7`, `{`, ``, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`,
		`{"a":1,"\u0061":2}`, "{\"a\":\"\x7f\u2028\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := jsontext.Value(slices.Clone(text))
		err := want.Canonicalize()
		before := bytes.Clone(text)
		members, errMembers := canonical.Members(text)
		if errMembers != nil {
			require.True(t, err != nil || want.Kind() != '{', "%q: %v", text, errMembers)
			return
		}
		require.EqualValues(t, len(members), canonical.Count(bytes.TrimSpace(text)))
		got, errObject := canonical.Object(members)
		require.Equal(t, before, text)
		requireForm(t, want, err, got, errObject)
	})
}

// requireForm shows that a form is the one that jsontext makes, and there is none if that has none.
func requireForm(t *testing.T, want jsontext.Value, err error, got []byte, errGot error) {
	t.Helper()
	if err != nil {
		require.Error(t, errGot)
		return
	}
	require.NoError(t, errGot)
	require.Equal(t, string(want), string(got))
}

// FuzzValue: so has any value, which is returned itself when it has that form.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{`null`, `true`, `"x"`, `"\u0041"`, `"é"`, `1.50`, `1`, `[1, 2]`, `[1,2]`, `{"b":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := jsontext.Value(slices.Clone(text))
		if !want.IsValid() || len(bytes.TrimSpace(text)) != len(text) {
			return
		}
		err := want.Canonicalize()
		before := bytes.Clone(text)
		got, errValue := canonical.Value(text)
		require.Equal(t, before, text)
		requireForm(t, want, err, got, errValue)
		if err == nil && string(want) == string(text) {
			require.Same(t, &text[0], &got[0])
		}
	})
}

func TestIs(t *testing.T) {
	t.Parallel()
	members, err := canonical.Members([]byte(`{"type":1,"\u0074ype2":2,"Type":3,"ö":4}`))
	require.NoError(t, err)
	require.Len(t, members, 4)
	require.True(t, members[0].Is("type"))
	require.False(t, members[1].Is("type"))
	require.True(t, members[1].Is("type2"))
	require.False(t, members[2].Is("type"))
	require.True(t, members[3].Is("ö"))
	require.Equal(t, `1`, string(members[0].Value))
}

func BenchmarkValue(b *testing.B) {
	text := []byte(`{"id":"approval-1","tool_call_id":"call-1","tool_name":"bash","input":{"command":"rm -rf build"},"reason":"shell command","count":12,"list":["a",{"c":1,"b":null}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canonical.Value(text); err != nil {
			b.Fatal(err)
		}
	}
}
