package notify

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// QuietHours is a row of quiet_hours.
type QuietHours struct {
	Zone                   string
	FromMinutes, ToMinutes int64
}

// QuietHours returns the quiet hours of a person.
func (s *Service) QuietHours(ctx context.Context, principal string) (api.QuietHoursView, error) {
	hours, err := s.options.Store.QuietHours(ctx, principal)
	if err != nil || hours == nil {
		return api.QuietHoursView{}, err
	}
	clock := func(minutes int64) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }
	return api.QuietHoursView{QuietHours: &api.QuietHours{
		Zone: hours.Zone, From: clock(hours.FromMinutes), To: clock(hours.ToMinutes),
	}}, nil
}

// SetQuietHours sets the quiet hours of a person. Errors: invalid_request; errors of the store.
func (s *Service) SetQuietHours(ctx context.Context, principal string, body *api.QuietHours) (api.QuietHoursView, error) {
	var faults refusal.Faults
	if _, err := escalation.ZoneOf(body.Zone); err != nil {
		faults.Add("/zone", "%s", err.Error())
	}
	from, fromOK := api.ClockMinutes(body.From)
	to, toOK := api.ClockMinutes(body.To)
	for pointer, ok := range map[string]bool{"/from": fromOK && from < 24*60, "/to": toOK && (!fromOK || from != to)} {
		if !ok {
			faults.Add(pointer, "must be a time of the day, such as 22:00, and from must differ from to")
		}
	}
	if err := faults.Err(); err != nil {
		return api.QuietHoursView{}, err
	}
	if err := s.options.Store.SetQuietHours(ctx, principal, &QuietHours{Zone: body.Zone, FromMinutes: int64(from), ToMinutes: int64(to)}); err != nil {
		return api.QuietHoursView{}, err
	}
	return s.QuietHours(ctx, principal)
}

// ClearQuietHours ends the quiet hours of a person.
func (s *Service) ClearQuietHours(ctx context.Context, principal string) error {
	return s.options.Store.SetQuietHours(ctx, principal, nil)
}

// quiet returns a *runs.PutOffError during the person's quiet hours, unless the message is urgent.
func (s *Service) quiet(ctx context.Context, notice *model.PersonNotice) error {
	if notice.Urgent {
		return nil
	}
	hours, err := s.options.Store.QuietHours(ctx, notice.Principal)
	if err != nil || hours == nil {
		return err
	}
	zone, err := escalation.ZoneOf(hours.Zone)
	if err != nil {
		return nil //nolint:nilerr // a zone that this program does not know keeps no message back
	}
	nowMs := s.options.NowMs()
	untilMs := escalation.QuietUntil(zone, int(hours.FromMinutes), int(hours.ToMinutes), nowMs)
	if untilMs == 0 {
		return nil
	}
	return &runs.PutOffError{Ms: min(untilMs-nowMs, maxSnoozeHoldMs)}
}
