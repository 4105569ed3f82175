package operate

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

type quietHours struct {
	Show  show[api.QuietHoursView, quietHoursRef]   `cmd:"" help:"Show your quiet hours."`
	Set   show[api.QuietHoursView, quietHoursSet]   `cmd:"" help:"Set the times of the day at which you get no messages."`
	Clear show[api.QuietHoursView, quietHoursClear] `cmd:"" help:"End your quiet hours."`
}

type quietHoursRef struct{}

func (quietHoursRef) find(ctx context.Context, c *client.Client) (*api.QuietHoursView, error) {
	return c.GetQuietHours(ctx)
}

func (quietHoursRef) fields(view *api.QuietHoursView, _ time.Time) []console.Field {
	if view.QuietHours == nil {
		return []console.Field{{"quiet hours", "none"}}
	}
	return []console.Field{{"quiet hours", view.QuietHours.From + " to " + view.QuietHours.To}, {"zone", view.QuietHours.Zone}}
}

type quietHoursSet struct {
	quietHoursRef
	From string `arg:"" help:"When they begin, such as 22:00."`
	To   string `arg:"" help:"When they end, such as 07:00."`
	Zone string `required:"" placeholder:"ZONE" help:"Your time zone, such as Europe/Berlin."`
}

func (q quietHoursSet) find(ctx context.Context, c *client.Client) (*api.QuietHoursView, error) {
	return c.SetQuietHours(ctx, api.QuietHours{Zone: q.Zone, From: q.From, To: q.To})
}

type quietHoursClear struct{ quietHoursRef }

func (quietHoursClear) find(ctx context.Context, c *client.Client) (*api.QuietHoursView, error) {
	return &api.QuietHoursView{}, c.ClearQuietHours(ctx)
}
