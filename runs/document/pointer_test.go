package document

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func TestPointers(t *testing.T) {
	t.Parallel()
	document := api.JSON(`{"a": {"b/c": [10, {"~": "x"}], "": 1.50}, "d":null}`)
	for _, c := range []struct{ pointer, at, replaced string }{
		{"", string(document), `"S"`},
		{"/d", "null", `{"a":{"b/c": [10, {"~": "x"}], "": 1.50},"d":"S"}`},
		{"/a/b~1c/0", "10", `{"a":{"b/c":["S",{"~": "x"}],"":1.50},"d":null}`},
		{"/a/b~1c/1/~0", `"x"`, `{"a":{"b/c":[10,{"~":"S"}],"":1.50},"d":null}`},
		{"/a/", "1.50", `{"a":{"b/c":[10, {"~": "x"}],"":"S"},"d":null}`},
		{"/b", "", ""},
		{"/a/b~1c/2", "", ""},
		{"/a/b~1c/-", "", ""},
		{"/a/b~1c/00", "", ""},
		{"/d/x", "", ""},
	} {
		pointer, ok := ParsePointer(c.pointer)
		require.True(t, ok, c.pointer)
		require.Equal(t, c.at, string(pointer.At(document)), c.pointer)
		replaced := pointer.Replace(document, api.JSON(`"S"`))
		if c.replaced == "" {
			require.JSONEq(t, string(document), string(replaced), "nothing is there")
			continue
		}
		require.JSONEq(t, c.replaced, string(replaced), c.pointer)
		require.NoError(t, Check(replaced))
	}
	require.Contains(t, string(Pointer{"d"}.Replace(document, api.JSON(`1`))), "1.50", "numbers stay as they are written")
	for _, text := range []string{"a", " /a", "/~", "/~2", "/a~", "#/a"} {
		_, ok := ParsePointer(text)
		require.False(t, ok, text)
	}
}
