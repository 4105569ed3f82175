package runs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// jsonSeeds are texts on both sides of every limit of CheckJSON.
var jsonSeeds = []string{
	``, ` `, `null`, ` true `, `"a"`, `{}`, `[]`, `{"a":[1,2,{"b":null}]}`, `1 2`, `1 x`, `{"a":1}}`, `[1,]`, `{"a":}`,
	`{"a":1,"a":2}`, `{"a":{"b":1,"b":1}}`, `"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`, "\"\xff\"", "\ufeff1", `"\u0000"`, "\"\x01\"",
	`9007199254740991`, `9007199254740992`, `9007199254740993`, `-9007199254740992`, `-9007199254740993`, `12345678901234567890`,
	`1e400`, `-1e400`, `1e308`, `1e-400`, `1e-999999999`, `0e-999999999`, `-0`, `-0.0E+5`, `5e-324`, `2e-324`, `01`, `+1`, `.5`, `1.`, `NaN`,
	`1.5`, `100000000000000000000.5`, `1E2`, `[1e21,1e-7,0.000001,123456789012345.6]`, `{"\u00e9":1,"z":2,"\ud83d\ude00":3,"\u20ac":4,"\r":5}`,
	strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
	strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64), strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65),
	strings.Repeat("[", 70), `"<&>` + "\u2028" + `/\/"`,
}

// FuzzCheckJSON compares CheckJSON with the standard library, and Canonical with another
// implementation of RFC 8785.
func FuzzCheckJSON(f *testing.F) {
	large := regexp.MustCompile(`[0-9]{16}`)
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		given := bytes.Clone(text)
		err := document.Check(text)
		require.Equal(t, given, text, "the text was changed")
		theirs, theirErr := jcs.Transform(bytes.Clone(text))
		switch refusal.CodeOf(err) {
		case "":
			require.NoError(t, err)
			require.True(t, json.Valid(text), "%q was accepted", text)
			require.Empty(t, beyondBounds(t, text), "%q was accepted", text)
			ours, err := document.Canonical(api.JSON(text))
			require.NoError(t, err)
			// jcs rounds integers that keep their digits here; package canonical has its own tests.
			if !large.Match(text) {
				require.NoError(t, theirErr)
				require.Equal(t, string(theirs), string(ours))
			}
			digest, err := document.Digest(api.JSON(text))
			require.NoError(t, err)
			again, err := document.Digest(api.JSON(ours))
			require.NoError(t, err)
			require.Equal(t, digest, again)
		case api.CodeInvalidRequest:
			// The fault is found before the end of the text, so the rest may be invalid JSON. The
			// part that was read exceeds the limit.
			var refusal *refusal.Error
			require.ErrorAs(t, err, &refusal)
			require.Len(t, refusal.Faults, 1)
			require.NotEmpty(t, beyondBounds(t, text), "%q was refused: %v", text, err)
		case api.CodeBadRequest:
			require.True(t, !json.Valid(text) || !utf8.Valid(text) || theirErr != nil, "%q was refused: %v", text, err)
		default:
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// beyondBounds returns the domain limit that a text exceeds, reading token by token with the
// standard library.
func beyondBounds(t *testing.T, text []byte) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	depth := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return ""
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '[' || token == '{' {
				if depth++; depth > api.MaxJSONDepth {
					return "depth"
				}
			} else {
				depth--
			}
		case json.Number:
			if fault := numberBeyond(token.String()); fault != "" {
				return fault
			}
		}
	}
}

func numberBeyond(literal string) string {
	value, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(value, 0) {
		return "range"
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e")
	if value == 0 && strings.ContainsAny(mantissa, "123456789") {
		return "range"
	}
	return ""
}

// The pointers of CheckJSON's faults.
func TestCheckJSONPointers(t *testing.T) {
	t.Parallel()
	for text, pointer := range map[string]string{
		`{"a":[1,{"b/c":1e999}]}`: "/a/1/b~1c",
		`[0,1e999]`:               "/1",
		`{"x":1e-999}`:            "/x",
		strings.Repeat("[", 65):   strings.Repeat("/0", 64),
	} {
		refusal := requireCode(t, api.CodeInvalidRequest, document.Check([]byte(text)))
		require.Equal(t, pointer, refusal.Faults[0].Pointer, text)
	}
}

func FuzzIDs(f *testing.F) {
	for _, seed := range []string{"", ".", "..", "...", "a", "A-z_0:9.", "a b", "a/b", "ä", "\x00", strings.Repeat("x", 200), strings.Repeat("x", 201)} {
		f.Add(seed)
	}
	pattern := regexp.MustCompile(`\A[A-Za-z0-9._:-]{1,200}\z`)
	f.Fuzz(func(t *testing.T, id string) {
		require.Equal(t, pattern.MatchString(id) && id != "." && id != "..", refusal.ValidID(id))
		// A hostile id is refused or unknown, and never appears in the rows to load.
		for _, command := range []runs.Command{
			allow("r", id), answer("r", id, "x"), &runs.CancelQuestion{RunID: "r", RequestID: id}, &runs.Withdraw{RunID: "r", RequestID: id, Fence: 1},
			suspend("r", 1, approval(id)), ask(id),
		} {
			for _, asked := range command.Needs().RequestIDs {
				require.True(t, refusal.ValidID(asked), "%T asks for %q", command, asked)
			}
			h := newHouse(t).start("r")
			_, err := h.do(command)
			require.True(t, err == nil || refusal.CodeOf(err) != "", "%T: %v", command, err)
		}
	})
}

func FuzzIdempotencyKeys(f *testing.F) {
	for _, seed := range []string{"", " ", "k", " k\t", "a\x00", "a\nb", "é", "\xff", "\u0085", strings.Repeat("k", 256), strings.Repeat("k", 257), "\"quoted\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		checked, err := refusal.CheckIdempotencyKey(key)
		if err != nil {
			requireCode(t, api.CodeInvalidIdempotencyKey, err)
			return
		}
		require.Equal(t, strings.TrimSpace(key), checked)
		require.True(t, checked != "" && len(checked) <= api.MaxIdempotencyKeyLength && utf8.ValidString(checked))
		require.NotContains(t, checked, "\x00")
		again, err := refusal.CheckIdempotencyKey(checked)
		require.NoError(t, err)
		require.Equal(t, checked, again)
		h := newHouse(t).wait("r", approval("a"))
		require.False(t, h.must(keyed(allow("r", "a"), key)).Replayed)
		require.True(t, h.must(keyed(allow("r", "a"), checked)).Replayed)
	})
}

// FuzzSchemas raises a typed question and answers it: a schema and a value that pass the first
// check must not hang or break the second.
func FuzzSchemas(f *testing.F) {
	for _, seed := range [][2]string{
		{`true`, `1`},
		{`false`, `1`},
		{`{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":0,"multipleOf":0.1}}}`, `{"a":5e-324}`},
		{`{"$ref":"#"}`, `1`},
		{`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `[]`},
		{`{"items":{"$ref":"#"},"uniqueItems":true,"contains":{"const":1}}`, `[[1,1.0,1e0],[],[[]]]`},
		{`{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, `{"a":{"a":{"a":{"a":1}}}}`},
		{`{"patternProperties":{"^(a|b)*c{2,9}$":{"pattern":"(x+x+)+y"}}}`, `{"abcc":"xxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{}},"dependencies":{"a":["b"]}}`, `{"a":1}`},
		{`{"$dynamicAnchor":"x","unevaluatedProperties":{"$dynamicRef":"#x"}}`, `{"a":{"b":{}}}`},
		{`{"$id":"http://example.com/a","$ref":"b"}`, `1`},
		{`{"enum":[1,{"a":[null]}],"const":{}}`, `{"a":[null]}`},
		{`{"if":{"minLength":2},"then":{"format":"email"},"else":{"contentEncoding":"base64"}}`, `"\u0000x"`},
		{`{"propertyNames":{"pattern":"^\\p{L}+$"},"maxProperties":1}`, `{"é":1,"1":2}`},
		{`{"minimum":1e-300,"exclusiveMaximum":1e300}`, `1.5`},
		{`[]`, `1`},
		{`7`, `1`},
		{`{"type":7}`, `1`},
		{`{"pattern":"("}`, `"a"`},
		{`{"$ref":"urn:holdpoint:schema#/x"}`, `1`},
		{`{"$vocabulary":{"urn:holdpoint:budget":true}}`, `1`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		if document.Check(schema) != nil || document.Check(value) != nil {
			return // refused earlier
		}
		h := newHouse(t).start("r")
		_, err := h.do(suspend("r", 1, api.UserQuestionRequest{ID: "q", ResponseSchema: api.JSON(schema)}))
		if err != nil {
			requireCode(t, api.CodeInvalidRequest, err)
			return
		}
		_, err = h.do(&runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q", Value: api.JSON(value)}})
		require.True(t, err == nil || refusal.CodeOf(err) != "", "%v", err)
	})
}
