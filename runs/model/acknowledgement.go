package model

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Acknowledgements returns the stored acknowledgements of an open request, including those that have
// lapsed.
func (r *Request) Acknowledgements() []api.Acknowledgement {
	if r.Acknowledgement == nil || !r.Open() {
		return nil
	}
	var list []api.Acknowledgement
	document.DecodeStored(r.Acknowledgement, &list)
	return list
}

// AcknowledgedAt returns the acknowledgements of an open request that count at a time.
func (r *Request) AcknowledgedAt(nowMs int64) []api.Acknowledgement {
	return slices.DeleteFunc(r.Acknowledgements(), func(a api.Acknowledgement) bool { return a.UntilMs <= nowMs })
}
