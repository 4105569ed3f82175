package telemetry

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// vias are the values of the label via, without the names of faces. The part after a colon is left
// out, because callers choose it.
var vias = []string{
	api.ViaAPI, api.ViaClock, api.ViaWorker, api.ViaRunEnded, api.ViaCancel, api.ViaInterrupt, api.ViaEnd,
	strings.TrimSuffix(api.ViaRule, ":"),
}

// otherLabel stands for all values of a label that callers choose.
const otherLabel = "other"

// viaLabel returns how a request was settled, as a label.
func (d *Door) viaLabel(request *model.Request) string {
	via, _, _ := strings.Cut(viaOf(request.Resolution), ":")
	if !slices.Contains(vias, via) && !slices.Contains(d.faces, via) {
		return otherLabel
	}
	return via
}

// viaOf returns the member via of a resolution without parsing the rest.
func viaOf(resolution api.JSON) string {
	decoder := jsontext.NewDecoder(bytes.NewReader(resolution), jsontext.AllowDuplicateNames(true))
	if _, err := decoder.ReadToken(); err != nil {
		return ""
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return ""
		}
		if name.String() != "via" {
			if decoder.SkipValue() != nil {
				return ""
			}
			continue
		}
		value, err := decoder.ReadToken()
		if err != nil {
			return ""
		}
		return value.String()
	}
	return ""
}
