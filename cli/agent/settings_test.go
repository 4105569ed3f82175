package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A link may lead through another link and back up with "..": the parent is the one of the directory behind
// that link. The file need not exist.
func TestBehindLinks(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, directory := range []string{"home", "dotfiles/sub"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, directory), 0o700))
	}
	link := filepath.Join(root, "home", "settings.json")
	require.NoError(t, os.Symlink("../dotfiles/sub", filepath.Join(root, "home", "sub")))
	require.NoError(t, os.Symlink("sub/../claude.json", link))
	behind := filepath.Join(root, "dotfiles", "claude.json")
	for range 2 {
		got, err := behindLinks(link)
		require.NoError(t, err)
		require.Equal(t, behind, got)
		require.NoError(t, replaceFile(link, []byte("{}")))
		require.FileExists(t, behind)
		require.NoFileExists(t, filepath.Join(root, "home", "claude.json"))
	}
	loop := filepath.Join(root, "loop")
	require.NoError(t, os.Symlink("loop", loop))
	_, err = behindLinks(loop)
	require.ErrorContains(t, err, "more than 40 links")
}
