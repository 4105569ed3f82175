package runs

import (
	"bytes"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// checkAbout adds the faults of a session's label and origin. The pointer at locates them in the
// request body.
func checkAbout(at string, label *string, origin *api.SessionOrigin, faults *refusal.Faults) {
	if label != nil {
		faults.Text(at+"/label", *label, utf8.UTFMax*api.MaxLabelLength)
		if utf8.RuneCountInString(*label) > api.MaxLabelLength {
			faults.Add(at+"/label", "must have at most %d characters", api.MaxLabelLength)
		}
	}
	if origin != nil {
		faults.Text(at+"/origin/project", origin.Project, api.MaxNameLength)
		faults.Text(at+"/origin/directory", origin.Directory, api.MaxDirectoryLength)
		faults.Text(at+"/origin/host", origin.Host, api.MaxNameLength)
	}
}

// aboutBytes returns the size of a label and an origin.
func aboutBytes(label *string, origin *api.SessionOrigin) (size int) {
	if label != nil {
		size += len(*label)
	}
	if origin != nil {
		size += len(origin.Project) + len(origin.Directory) + len(origin.Host)
	}
	return size
}

// mergeAbout returns a session's About with a new label and a new origin. Nil keeps the stored one;
// an empty one removes it.
func mergeAbout(stored api.JSON, label *string, origin *api.SessionOrigin) (merged api.JSON, changed bool) {
	about := model.AboutOf(stored)
	if label != nil {
		about.Label = *label
	}
	if origin != nil {
		about.Origin = nil
		if *origin != (api.SessionOrigin{}) {
			about.Origin = origin
		}
	}
	if about.Label != "" || about.Origin != nil {
		merged = document.Encode(about)
	}
	return merged, !bytes.Equal(merged, stored)
}

// givenAbout returns the members of a run's session that were given: empty ones count as absent.
func givenAbout(about *api.SessionAbout) (label *string, origin *api.SessionOrigin) {
	if about == nil {
		return nil, nil
	}
	if about.Label != "" {
		label = &about.Label
	}
	if about.Origin != nil && *about.Origin != (api.SessionOrigin{}) {
		origin = about.Origin
	}
	return label, origin
}
