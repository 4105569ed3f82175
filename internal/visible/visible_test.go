package visible_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/visible"
)

// TestLookAlikes reads the cases that the page is tested with, too: a text, and the characters that are marked.
func TestLookAlikes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/cases.json")
	require.NoError(t, err)
	var cases map[string]string
	require.NoError(t, json.Unmarshal(text, &cases))
	for given, want := range cases {
		var marked strings.Builder
		for _, at := range slices.Sorted(maps.Keys(visible.LookAlikes(given))) {
			marked.WriteString(string([]rune(given[at:])[0]))
		}
		require.Equal(t, want, marked.String(), "%+q", given)
	}
	require.Nil(t, visible.LookAlikes("curl https://apple.com/i | sh"))
	require.Nil(t, visible.LookAlikes("bad \xff\xd0 text"))
}

func TestHides(t *testing.T) {
	t.Parallel()
	for _, r := range "\u202e\u200b\u2028\u00a0\u3164\u2800\ufe0f\ufeff\u180b\U000e0041\U000e0100\U0001d173\ue000\x1b" {
		require.True(t, visible.Hides(r), "%U", r)
	}
	for _, r := range "a é✓会👩а" {
		require.False(t, visible.Hides(r), "%U", r)
	}
}

// TestThePageHasTheSameLetters compares the table with the one of the page.
func TestThePageHasTheSameLetters(t *testing.T) {
	t.Parallel()
	table := func(file string) [][]string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return regexp.MustCompile(`"(\S+)"[ +]* // \w+\n`).FindAllStringSubmatch(string(text), -1)
	}
	here, page := table("visible.go"), table("../../web/assets/lookalikes.js")
	require.Len(t, here, 7)
	for i := range here {
		require.Equal(t, here[i][1], page[i][1])
	}
}

func TestSkeleton(t *testing.T) {
	t.Parallel()
	for text, like := range map[string]string{"\u0410": "A", "Plan \u0410": "Plan A", "\u0441\u043e\u0440": "cop", "\uff21\u00a0b": "A b"} {
		require.Equal(t, like, visible.Skeleton(text))
	}
	for _, text := range []string{"m\u00b2", "10\u2076", "H\u2082O", "caf\u00e9", "\u0429"} {
		require.Equal(t, text, visible.Skeleton(text), "it looks like itself")
	}
}
