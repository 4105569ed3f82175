package telemetry

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// ways are the values of the label via: the ways of the service, and those of the dialects. What
// stands behind a colon is left out: callers choose it.
var ways = []string{
	api.ViaAPI, api.ViaClock, api.ViaWorker, api.ViaRunEnded, api.ViaCancel, api.ViaInterrupt, api.ViaEnd,
	strings.TrimSuffix(api.ViaRule, ":"), "hermes", "codex", "timbal", "relay",
}

const otherWay = "other"

// wayOf returns the way of a settled request as a label.
func wayOf(request *model.Request) string {
	way, _, _ := strings.Cut(viaOf(request.Resolution), ":")
	if !slices.Contains(ways, way) {
		return otherWay
	}
	return way
}

// viaOf returns the member via of a resolution, reading no further and keeping nothing else of it.
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
