package canonical_test

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/canonical"
)

// FuzzObject: an object gets the same form as from jsontext, or an error if jsontext
// returns one, and its text is unchanged.
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
		want, err := reference(text)
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

// large finds integers that a double may round.
var large, minusZero = regexp.MustCompile(`[0-9]{16}`), []byte("-0")

// reference returns the form that jsontext writes. It leaves -0 in a text with large
// integers, so [TestIntegersKeepTheirDigits] alone covers such texts.
func reference(text []byte) (jsontext.Value, error) {
	form := jsontext.Value(slices.Clone(text))
	if !large.Match(text) {
		return form, form.Canonicalize()
	}
	if bytes.Contains(text, minusZero) {
		made, err := canonical.Text(text)
		return made, err
	}
	return form, form.Canonicalize(jsontext.CanonicalizeRawInts(false))
}

func TestIntegersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for text, form := range map[string]string{
		`9007199254740993`:                     `9007199254740993`,
		` -12345678901234567890123456789 `:     `-12345678901234567890123456789`,
		`[1.0, 1e2, 1E30, -0, -0.0, -10, 007]`: ``,
		`[1.0, 1e2, 1E30, -0, -0.0, -10]`:      `[1,100,1e+30,0,0,-10]`,
		`{"é":-9007199254740993,"a":-0,"b":[12345678901234567890,"-0 12345678901234567890\u0041"]}`: `{"a":0,"b":[12345678901234567890,"-0 12345678901234567890A"],"é":-9007199254740993}`,
		`{"b":9007199254740993,"a":9007199254740992}`:                                               `{"a":9007199254740992,"b":9007199254740993}`,
	} {
		got, err := canonical.Text([]byte(text))
		if form == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, form, string(got), text)
	}
}

// requireForm checks that a form equals jsontext's, or that both failed.
func requireForm(t *testing.T, want jsontext.Value, err error, got []byte, errGot error) {
	t.Helper()
	if err != nil {
		require.Error(t, errGot)
		return
	}
	require.NoError(t, errGot)
	require.Equal(t, string(want), string(got))
}

// FuzzValue: a value gets the same form as from jsontext, and is returned as it is if it
// already has it.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{`null`, `true`, `"x"`, `"\u0041"`, `"é"`, `1.50`, `1`, `[1, 2]`, `[1,2]`, `{"b":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !jsontext.Value(text).IsValid() || len(bytes.TrimSpace(text)) != len(text) {
			return
		}
		want, err := reference(text)
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
