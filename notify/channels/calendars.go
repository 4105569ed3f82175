package channels

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/escalation"
)

// Limits of calendars.
const (
	maxCalendars = 32
	maxClosed    = 1_000
)

// calendar is a calendar in the file.
type calendar struct {
	Zone   string   `yaml:"zone"`
	Days   []string `yaml:"days"`
	From   string   `yaml:"from"`
	To     string   `yaml:"to"`
	Closed []string `yaml:"closed"`
}

// calendars returns the calendars, by name.
func (f *file) calendars() (map[string]*escalation.Calendar, error) {
	if len(f.Calendars) > maxCalendars {
		return nil, fmt.Errorf("calendars must have at most %d entries", maxCalendars)
	}
	made := make(map[string]*escalation.Calendar, len(f.Calendars))
	for name, settings := range f.Calendars {
		if err := checkName("calendar", name); err != nil {
			return nil, err
		}
		var err error
		if made[name], err = settings.make(); err != nil {
			return nil, fmt.Errorf("calendar %s: %w", name, err)
		}
	}
	return made, nil
}

var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (c *calendar) make() (*escalation.Calendar, error) {
	zone, err := escalation.ZoneOf(c.Zone)
	if err != nil {
		return nil, fmt.Errorf("zone %w", err)
	}
	made := &escalation.Calendar{Zone: zone, Closed: map[string]bool{}}
	if len(c.Days) == 0 {
		return nil, errors.New("days must name at least one day")
	}
	for _, day := range c.Days {
		known := false
		for at, name := range dayNames {
			if name == strings.ToLower(day) {
				made.Days[at], known = true, true
			}
		}
		if !known {
			return nil, fmt.Errorf("days: %q must be one of %s", day, strings.Join(dayNames, ", "))
		}
	}
	var fromOK, toOK bool
	made.From, fromOK = api.ClockMinutes(c.From)
	made.To, toOK = api.ClockMinutes(c.To)
	if !fromOK || !toOK || made.From >= made.To {
		return nil, errors.New(`from and to must be times such as "09:00" and "17:30", from before to; "24:00" is the end of the day`)
	}
	if len(c.Closed) > maxClosed {
		return nil, fmt.Errorf("closed must have at most %d dates", maxClosed)
	}
	for _, date := range c.Closed {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return nil, fmt.Errorf(`closed: %q must be a date such as "2026-12-25"`, date)
		}
		made.Closed[date] = true
	}
	return made, nil
}
