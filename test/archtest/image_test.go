package archtest

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/stretchr/testify/require"
)

// TestImageGetsWhatIsEmbedded holds that .dockerignore lets through every file that "go build" of
// the program embeds: a missing one shows only when somebody builds the image.
func TestImageGetsWhatIsEmbedded(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join(root(t), ".dockerignore"))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	patterns, err := ignorefile.ReadAll(file)
	require.NoError(t, err)
	ignored, err := patternmatcher.New(patterns)
	require.NoError(t, err)
	all := packages(t)
	embedded := 0
	for _, linked := range append(all["cmd/holdpoint"].Deps, module) {
		one := all[(&goPackage{ImportPath: linked}).name()]
		if one == nil || one.ImportPath != linked {
			continue // of another module
		}
		for _, name := range one.EmbedFiles {
			embedded++
			left, err := ignored.MatchesOrParentMatches(path.Join(one.name(), name))
			require.NoError(t, err)
			require.False(t, left, "%s embeds %s, which .dockerignore leaves out", one.name(), name)
		}
	}
	require.Greater(t, embedded, 100)
	left, err := ignored.MatchesOrParentMatches("bench/peers/main.go")
	require.NoError(t, err)
	require.True(t, left)
}
