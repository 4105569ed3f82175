package prompt_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/prompt"
)

// The page is JavaScript and has the words a second time. Both must say the same.
func TestThePageHasTheSameWordsForWays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../web/assets/words.js")
	require.NoError(t, err)
	found := regexp.MustCompile(`case "(\S+)": return "(.+)";`).FindAllStringSubmatch(string(page), -1)
	inPage := map[string]string{}
	for _, one := range found {
		inPage[one[1]] = one[2]
		require.Equal(t, one[2], prompt.Way(one[1]), one[1])
	}
	for _, via := range prompt.FixedWays() {
		require.Contains(t, inPage, via)
	}
}

func TestWaysWithANameSayIt(t *testing.T) {
	t.Parallel()
	for via, want := range map[string]string{
		"rule:r1": "by a rule", "link:sms": "by the link in a message", "api:slack": "in slack", "codex": "in codex", "": "in an unrecorded way", "api:": "in api:",
	} {
		require.Equal(t, want, prompt.Way(via), via)
	}
}
