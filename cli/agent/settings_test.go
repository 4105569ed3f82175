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

// Somebody else who may write in the directory of the settings has no other file written.
func TestReplacedFilesWriteNoOther(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	settings, other := filepath.Join(root, "settings.json"), filepath.Join(root, "other")
	require.NoError(t, os.WriteFile(other, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink("other", settings+".holdpoint"))
	require.NoError(t, replaceFile(settings, []byte("{}")))
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
	info, err := os.Lstat(settings)
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular())
	require.NoError(t, os.Mkdir(filepath.Join(root, "folder"), 0o700))
	require.Error(t, replaceFile(filepath.Join(root, "folder"), []byte("{}")))
	left, err := filepath.Glob(filepath.Join(root, "*.holdpoint-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A hook that the agent does not call decides nothing, whatever the file says that has it.
func TestHooksThatAreSwitchedOff(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	root := t.TempDir()
	t.Chdir(root)
	project := filepath.Join(root, ".claude")
	own, local, user := filepath.Join(project, "settings.json"), filepath.Join(project, "settings.local.json"), filepath.Join(home, ".claude", "settings.json")
	managed := filepath.Join(t.TempDir(), "managed-settings.json")
	const off, on = `{"disableAllHooks": true, "hooks": {}}`, `{"disableAllHooks": false}`
	for name, one := range map[string]struct {
		files map[string]string
		path  string
		by    string
	}{
		"nothing":                     {nil, own, ""},
		"by the project":              {map[string]string{own: off}, own, own},
		"by local settings":           {map[string]string{own: `{}`, local: off}, own, local},
		"by the user":                 {map[string]string{own: `{"hooks": {}}`, user: off}, own, user},
		"on again":                    {map[string]string{own: off, local: on, user: off}, own, ""},
		"of the user, by the user":    {map[string]string{user: off}, user, user},
		"of the user, by the project": {map[string]string{own: off, user: on}, user, filepath.Join(".claude", "settings.json")},
		"unreadable":                  {map[string]string{own: `{`}, own, ""},
		"managed":                     {map[string]string{own: off, user: off, managed: `{}`}, managed, ""},
		"by the managed":              {map[string]string{managed: off}, managed, managed},
	} {
		for _, file := range []string{own, local, user, managed} {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			if text, has := one.files[file]; has {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
		}
		said := claude.switchedOff(one.path)
		for file := range one.files {
			require.NoError(t, os.Remove(file))
		}
		if one.by == "" {
			require.Empty(t, said, name)
			continue
		}
		require.Equal(t, one.by+" has disableAllHooks, so claude-code calls no hook: take it out", said, name)
	}
	elsewhere := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", elsewhere)
	user = filepath.Join(elsewhere, "settings.json")
	require.NoError(t, os.WriteFile(user, []byte(off), 0o600))
	for _, path := range []string{own, user} {
		require.Equal(t, user+" has disableAllHooks, so claude-code calls no hook: take it out", claude.switchedOff(path))
	}
}

// A user who can replace one of the links replaces the file.
func TestDirectoriesOf(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	in := func(name string) string { return filepath.Join(root, name) + string(filepath.Separator) }
	for _, directory := range []string{"first", "second", "third"} {
		require.NoError(t, os.Mkdir(in(directory), 0o700))
	}
	require.NoError(t, os.Symlink("../second/link", in("first")+"link"))
	require.NoError(t, os.Symlink(in("third")+"file", in("second")+"link"))
	require.NoError(t, os.WriteFile(in("third")+"file", nil, 0o600))
	require.NoError(t, os.Symlink("loop", in("first")+"loop"))
	require.Equal(t, []string{in("first"), in("first") + "../second/", in("third")}, directoriesOf(in("first")+"link"))
	require.Equal(t, []string{in("third")}, directoriesOf(in("third")+"file"))
	require.Len(t, directoriesOf(in("first")+"loop"), mostLinks+1)
	if os.Getuid() <= 0 {
		return // root may write anywhere
	}
	require.NoError(t, os.Chmod(in("third")+"file", 0o400))
	for _, directory := range []string{"first", "third"} {
		require.NoError(t, os.Chmod(in(directory), 0o500))
		t.Cleanup(func() { _ = os.Chmod(in(directory), 0o700) })
	}
	require.True(t, writable(in("first")+"link"))
	require.NoError(t, os.Chmod(in("second"), 0o500))
	require.False(t, writable(in("first")+"link"))
	require.NoError(t, os.Chmod(in("second"), 0o700))
}
