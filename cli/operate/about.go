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
