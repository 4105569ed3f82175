package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AmendSession merges members into a session's metadata, and replaces its label and origin. A null
// removes a member of the metadata; any other value replaces it whole.
//
// Reply: Session; Existing when nothing changes. Errors: session_not_found; invalid_request,
// even if only the resulting metadata exceeds MaxMetadataBytes.
type AmendSession struct {
	SessionID string
	Metadata  api.JSON // a JSON object; nil keeps it
	// Label and Origin are kept when nil, and removed when empty.
	Label  *string
	Origin *api.SessionOrigin
}

// Spec implements Command.
func (c *AmendSession) Spec() Spec {
	return Spec{
		Name: "AmendSession", Actions: chats, Target: TargetNamed,
		size: Size{Rows: 1, Bytes: len(c.Metadata) + aboutBytes(c.Label, c.Origin)},
	}
}

// Needs implements Command.
func (c *AmendSession) Needs() Needs { return Needs{SessionID: c.SessionID} }

func (c *AmendSession) prepare(*Call, IDSource) error {
	var faults refusal.Faults
	switch document.Kind(c.Metadata) {
	case '{':
	case 0, 'n':
		if c.Metadata = nil; c.Label == nil && c.Origin == nil {
			faults.Add("/metadata", "is required, or a label or an origin")
		}
	default:
		faults.Add("/metadata", "must be an object")
	}
	if len(c.Metadata) > api.MaxMetadataBytes {
		faults.Add("/metadata", "must have at most %d bytes", api.MaxMetadataBytes)
	}
	checkAbout("", c.Label, c.Origin, &faults)
	return faults.Err()
}

func (c *AmendSession) decide(w *workingCopy) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	merged, changed := w.session.Metadata, false
	if c.Metadata != nil {
		merged, changed = document.MergeMembers(w.session.Metadata, c.Metadata)
	}
	about, labelled := mergeAbout(w.session.About, c.Label, c.Origin)
	if !changed && !labelled {
		return Reply{Session: w.session, Existing: true}, nil
	}
	if len(merged) > api.MaxMetadataBytes && len(merged) > len(w.session.Metadata) {
		return Reply{}, refusal.Invalid(api.Fault{Pointer: "/metadata", Detail: "the session's metadata would be too large"})
	}
	w.session.Metadata, w.session.About = merged, about
	w.saveSession()
	return Reply{Session: w.session}, nil
}
