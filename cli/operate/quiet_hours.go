package operate

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// QuietHours is holdpoint quiet-hours.
type QuietHours struct {
	Show  quietHoursShow  `cmd:"" help:"Show your quiet hours."`
	Set   quietHoursSet   `cmd:"" help:"Set the times of the day at which you get no messages."`
	Clear quietHoursClear `cmd:"" help:"End your quiet hours."`
}

func quietHoursFields(view *api.QuietHoursView, _ time.Time) []console.Field {
	if view.QuietHours == nil {
		return []console.Field{{"quiet hours", "none"}}
	}
	return []console.Field{{"quiet hours", view.QuietHours.From + " to " + view.QuietHours.To}, {"zone", view.QuietHours.Zone}}
}

type quietHoursShow struct {
	console.Connection
	console.Format
}

// Run shows the quiet hours.
func (c *quietHoursShow) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		view, err := opened.GetQuietHours(ctx)
		if err != nil {
			return err
		}
		return printRecord(terminal, c.JSON, view, quietHoursFields)
	})
}

type quietHoursSet struct {
	console.Connection
	console.Format
	From string `arg:"" help:"When they begin, such as 22:00."`
	To   string `arg:"" help:"When they end, such as 07:00."`
	Zone string `required:"" placeholder:"ZONE" help:"Your time zone, such as Europe/Berlin."`
}

// Run sets the quiet hours.
func (c *quietHoursSet) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		view, err := opened.SetQuietHours(ctx, api.QuietHours{Zone: c.Zone, From: c.From, To: c.To})
		if err != nil {
			return err
		}
		return printRecord(terminal, c.JSON, view, quietHoursFields)
	})
}

type quietHoursClear struct {
	console.Connection
	console.Format
}

// Run ends the quiet hours.
func (c *quietHoursClear) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		if err := opened.ClearQuietHours(ctx); err != nil {
			return err
		}
		return printRecord(terminal, c.JSON, &api.QuietHoursView{}, quietHoursFields)
	})
}
