package escalation

import (
	"errors"
	"path"
	"strings"
	"time"
	_ "time/tzdata" // zones on machines and in images that have none

	"github.com/holdpoint/holdpoint/api"
)

var errZone = errors.New("must be the name of a time zone, such as Europe/Berlin")

// ZoneOf returns a time zone by its name. The machine's own is not one, by none of its names: replicas may have others.
func ZoneOf(name string) (*time.Location, error) {
	if name == "" || name == "Local" || strings.EqualFold(path.Base(name), "localtime") || len(name) > api.MaxZoneLength {
		return nil, errZone
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errZone
	}
	return zone, nil
}
