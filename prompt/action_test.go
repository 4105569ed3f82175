package prompt_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/prompt"
)

// The page is JavaScript and finds the actions a second time. kinds.test.mjs reads the same table.
func TestActions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/actions.json")
	require.NoError(t, err)
	var examples []struct {
		Input  api.JSON `json:"input"`
		Action string   `json:"action"`
	}
	require.NoError(t, json.Unmarshal(text, &examples))
	for _, one := range examples {
		require.Equal(t, one.Action, prompt.Action(one.Input), "%s", one.Input)
	}
}
