package operate

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// aboutFields show what people recognise a session by.
func aboutFields(about *api.SessionAbout) []console.Field {
	if about == nil {
		return nil
	}
	return []console.Field{{"label", about.Label}, {"where", whereOf(about.Origin)}}
}

// sessionName names a session for people: its label, else its project, else its agent. The page says the same.
func sessionName(sessionID, agentID string, about *api.SessionAbout) string {
	switch {
	case about != nil && about.Label != "":
		return about.Label
	case about != nil && about.Origin != nil && about.Origin.Project != "":
		return about.Origin.Project
	case agentID != "":
		return console.NameOfID(agentID)
	}
	return console.NameOfID(sessionID)
}

func whereOf(origin *api.SessionOrigin) string {
	if origin == nil {
		return ""
	}
	var parts []string
	for _, part := range []string{origin.Project, origin.Directory, origin.Host} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
