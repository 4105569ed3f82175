package console

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
)

// Named is the flag that names the session of a command's requests.
type Named struct {
	Label string `name:"session-label" placeholder:"TEXT" help:"What people recognise the session by, such as \"Release 42\" (at most 80 characters)."`
}

// CheckLabel validates the flag, so that no agent begins with a label that the service would refuse.
func (n *Named) CheckLabel() error {
	if utf8.RuneCountInString(n.Label) > api.MaxLabelLength {
		return Usage("--session-label must have at most %d characters", api.MaxLabelLength)
	}
	return nil
}

// About is About with the label of the flag.
func (n *Named) About(directory string) *api.SessionAbout {
	about := About(directory)
	if n.Label == "" {
		return about
	}
	if about == nil {
		about = &api.SessionAbout{}
	}
	about.Label = n.Label
	return about
}

// About returns what people recognise an agent's session by: the project, the directory and the
// host. An empty directory is this process's. Members that cannot be found out are left out: a call
// never fails because of them.
func About(directory string) *api.SessionAbout {
	if directory == "" {
		directory, _ = os.Getwd()
	}
	host, _ := os.Hostname()
	origin := api.SessionOrigin{Host: shownName(host, api.MaxNameLength)}
	if filepath.IsAbs(directory) {
		directory = filepath.Clean(directory)
		origin.Project = shownName(filepath.Base(gitRoot(directory)), api.MaxNameLength)
		origin.Directory = shownName(belowHome(directory), api.MaxDirectoryLength)
	}
	if origin == (api.SessionOrigin{}) {
		return nil
	}
	return &api.SessionAbout{Origin: &origin}
}

// gitRoot returns the directory of the repository that a directory belongs to, or the directory
// itself.
func gitRoot(directory string) string {
	for at := directory; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return directory
		}
	}
}

// belowHome writes the home directory as "~".
func belowHome(directory string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" || home == string(filepath.Separator) {
		return directory
	}
	home = filepath.Clean(home)
	if directory == home {
		return "~"
	}
	if below, within := strings.CutPrefix(directory, home+string(filepath.Separator)); within {
		return "~" + string(filepath.Separator) + below
	}
	return directory
}

// shownName returns a text that the service accepts: valid, on one line, within a limit.
func shownName(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	if len(text) <= limit {
		return text
	}
	text = text[:limit]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// SessionName names the session that asks, with its parent if it has one.
func SessionName(sessionID, parentSessionID string) string {
	if parentSessionID == "" {
		return sessionID
	}
	return sessionID + " (child of " + parentSessionID + ")"
}
