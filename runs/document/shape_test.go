package document_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

type common struct {
	Note string `json:"note"`
}

type leaf struct {
	_     struct{} `body:"closed"`
	ID    string   `json:"id" body:"required"`
	Value api.JSON `json:"value" body:"required"`
}

type tree struct {
	common
	Count  *int64            `json:"count,omitzero"`
	After  *int64            `json:"after,omitempty,string"`
	Hold   bool              `json:"hold"`
	Leaves []leaf            `json:"leaves" body:"required"`
	Names  map[string]string `json:"names"`
	Free   api.JSON          `json:"free"`
	Hidden string            `json:"-"`
}

func TestShapeOfATypeListsEveryFault(t *testing.T) {
	t.Parallel()
	shape := document.ShapeOf(reflect.TypeFor[*tree]())
	for text, want := range map[string][]string{
		`{"leaves":[]}`: nil,
		`{"leaves":[{"id":"a","value":null}],"note":null,"count":null,"after":null,"hold":null,"names":null,"free":null}`: nil,
		`{"leaves":[],"note":"n","count":-3,"after":"7","hold":true,"names":{"a":"b"},"free":{"any":[1,{}]},"Hidden":7}`:  nil,
		`{}`:                                     {"/leaves is required"},
		`null`:                                   {" must be an object"},
		`[{"leaves":1}]`:                         {" must be an object"},
		`{"leaves":null}`:                        {"/leaves is required"},
		`{"leaves":{"0":1}}`:                     {"/leaves must be an array"},
		`{"leaves":[null, 7 ,{}]}`:               {"/leaves/0 must be an object", "/leaves/1 must be an object", "/leaves/2/id is required", "/leaves/2/value is required"},
		`{"leaves":[],"count":"7"}`:              {"/count must be an integer"},
		`{"leaves":[],"count":1.5}`:              {"/count must be an integer"},
		`{"leaves":[],"count":1e3}`:              {"/count must be an integer"},
		`{"leaves":[],"count":9007199254740993}`: {"/count must be at most 2^53"},
		`{"leaves":[],"count":99999999999999999999}`:     {"/count must be an integer"},
		`{"leaves":[],"after":7}`:                        {"/after must be an integer"},
		`{"leaves":[],"after":"seven"}`:                  {"/after must be an integer"},
		`{"leaves":[],"names":{"a":null,"b":7,"c":"d"}}`: {"/names/a must be text", "/names/b must be text"},
		`{"leaves":[],"free":[{"a~b/c":1e999}]}`:         {"/free/0/a~0b~1c number is out of range"},
		`{"leaves":[],"unknown":{"deep":[1e400]}}`:       {"/unknown/deep/0 number is out of range"},
		`{"leaves":[{"id":7,"value":1,"Value":2}],"hold":"yes","note":[]}`: {
			"/leaves/0/id must be text",
			"/leaves/0/Value is not a member that is known here, and might change what is meant; the members are id, value",
			"/hold must be true or false", "/note must be text",
		},
	} {
		var faults refusal.Faults
		cleaned, err := shape.Check([]byte(text), &faults)
		require.NoError(t, err, text)
		var got []string
		for _, fault := range faults.List {
			got = append(got, fault.Pointer+" "+fault.Detail)
		}
		require.Equal(t, want, got, text)
		require.NoError(t, json.Unmarshal(cleaned, new(tree)), "%s became %s", text, cleaned)
		if want == nil {
			require.Equal(t, text, string(cleaned))
		}
	}
}

func TestWhatIsRightStaysBesideWhatIsWrong(t *testing.T) {
	t.Parallel()
	var faults refusal.Faults
	cleaned, err := document.ShapeOf(reflect.TypeFor[tree]()).Check(
		[]byte(`{ "count" : "x" , "note" : "kept", "leaves" : [ 7 , {"id":"b", "value" : {"a":1} } ], "hold" : [true] }`), &faults)
	require.NoError(t, err)
	var read tree
	require.NoError(t, json.Unmarshal(cleaned, &read))
	require.Equal(t, tree{common: common{Note: "kept"}, Leaves: []leaf{{}, {ID: "b", Value: api.JSON(`{"a":1}`)}}}, read)
	require.Len(t, faults.List, 3)
}

func TestBrokenTextIsBroken(t *testing.T) {
	t.Parallel()
	shape := document.ShapeOf(reflect.TypeFor[tree]())
	for _, text := range []string{
		``, ` `, `{`, `{}{}`, `{}x`, `{"leaves":[}`, `{"leaves":[],"leaves":[]}`, `{"names":{"a":"b"`, `{"count":01}`, `{"note":"\ud800"}`,
		`{"names":{"a" "b"}}`, `{"leaves":[{"id":tru}]}`, `{"after":"x}`, `{"count":-}`, `{"leaves":7,"note":}`,
	} {
		var faults refusal.Faults
		_, err := shape.Check([]byte(text), &faults)
		require.Equal(t, api.CodeBadRequest, refusal.CodeOf(err), "%q: %v", text, err)
	}
}

func TestATextThatNestsTooDeeplyIsNotReadOn(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{api.MaxJSONDepth, 20_000} {
		var faults refusal.Faults
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		_, err := document.ShapeOf(reflect.TypeFor[tree]()).Check([]byte(`{"count":"x","free":`+deep+`,"hold":1}`), &faults)
		require.Equal(t, api.CodeInvalidRequest, refusal.CodeOf(err))
		require.Equal(t, []api.Fault{
			{Pointer: "/count", Detail: "must be an integer"},
			{Pointer: "/free" + strings.Repeat("/0", api.MaxJSONDepth-1), Detail: "nests deeper than 64 levels"},
		}, faults.List)
	}
}

func TestFaultsHaveALimit(t *testing.T) {
	t.Parallel()
	var faults refusal.Faults
	_, err := document.ShapeOf(reflect.TypeFor[tree]()).Check([]byte(`{"leaves":[`+strings.Repeat("1,", 10_000)+`1]}`), &faults)
	require.NoError(t, err)
	require.Len(t, faults.List, api.MaxFaults)
}
