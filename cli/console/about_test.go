package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// The project is the repository's name, from anywhere below it, else the directory's.
func TestAboutNamesTheProject(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	below := filepath.Join(home, "src", "shop", "cart")
	require.NoError(t, os.MkdirAll(below, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(home, "src", "shop", ".git"), 0o755))
	host, err := os.Hostname()
	require.NoError(t, err)

	require.Equal(t, &api.SessionOrigin{Project: "shop", Directory: "~/src/shop/cart", Host: host}, console.About(below).Origin)
	require.Equal(t, &api.SessionOrigin{Project: "src", Directory: "~/src", Host: host}, console.About(filepath.Join(home, "src")).Origin)
	require.Equal(t, "~", console.About(home).Origin.Directory)
	require.Equal(t, "/nowhere/there", console.About("/nowhere/there").Origin.Directory)

	t.Chdir(below)
	require.Equal(t, "shop", console.About("").Origin.Project)

	// Names that the service would refuse are shortened and cleaned.
	long := console.About("/a\x00\n\xff/" + strings.Repeat("é", api.MaxDirectoryLength)).Origin
	require.LessOrEqual(t, len(long.Directory), api.MaxDirectoryLength)
	require.LessOrEqual(t, len(long.Project), api.MaxNameLength)
	require.True(t, strings.HasPrefix(long.Directory, "/a\ufffd\ufffd\ufffd/é"))
	// A relative directory says nothing.
	require.Equal(t, &api.SessionOrigin{Host: host}, console.About("src").Origin)
}
