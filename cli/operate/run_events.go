package operate

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// runEvents selects the events of a run.
type runEvents struct {
	runRef
	limited
}

func (f runEvents) read(ctx context.Context, c *client.Client) ([]api.RunEventEntry, error) {
	return collect(c.AllRunEvents(ctx, f.RunID, client.EventListParams{}), f.Limit)
}

func (runEvents) table() table[api.RunEventEntry] {
	return table[api.RunEventEntry]{
		header: []string{"EVENT", "WHEN", "TYPE", "WHAT"},
		row: func(entry *api.RunEventEntry, now time.Time) []string {
			kind, what := eventText(entry)
			return []string{entry.ID, console.Ago(entry.TimestampMs, now), kind, console.Cut(what, 160)}
		},
	}
}

// eventBody has the members of events that are shown.
type eventBody struct {
	Type       string   `json:"type"`
	RequestIDs []string `json:"request_ids"`
	Content    string   `json:"content"`
	Error      string   `json:"error"`
	Reason     string   `json:"reason"`
}

// eventText returns the type and a description of an event.
func eventText(entry *api.RunEventEntry) (kind, what string) {
	var body eventBody
	change, err := client.ChangeIn(entry)
	if err != nil || json.Unmarshal(entry.Event, &body) != nil {
		return "", prompt.Compact(entry.Event)
	}
	var texts []string
	for i := range change.Resolutions {
		resolution := &change.Resolutions[i]
		texts = append(texts, resolution.RequestID+" "+resolutionText(resolution))
	}
	if len(texts) == 0 && len(body.RequestIDs) > 0 {
		texts = append(texts, strings.Join(body.RequestIDs, ", "))
	}
	for _, text := range []string{body.Content, body.Error, body.Reason} {
		if text != "" {
			texts = append(texts, text)
		}
	}
	return body.Type, strings.TrimSpace(strings.Join(texts, "; "))
}

func resolutionText(resolution *api.Resolution) string {
	text := prompt.Decided(resolution.Outcome, resolution.ResolvedBy, resolution.Via, "")
	if resolution.UpdatedInput != nil {
		text += ", edited to " + prompt.Compact(resolution.UpdatedInput)
	}
	if why := resolution.Reason + resolution.Justification; why != "" {
		text += ": " + why
	}
	return text
}

// runRecord is a run with its decisions.
type runRecord struct {
	api.RunView
	Decisions []api.Resolution `json:"decisions"`
}

// runsShow shows a run and its decisions.
type runsShow struct {
	console.Reporting
	runRef
	Follow bool `short:"f" help:"Print each new event on a line until the run has ended."`
}

// Run prints the run.
func (c *runsShow) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		// The events first: the run and the stream then miss none after them.
		decisions, newest, err := console.Decisions(ctx, opened, c.RunID)
		if err != nil {
			return err
		}
		run, err := opened.GetRun(ctx, c.RunID)
		if err != nil {
			return err
		}
		err = printRecord(terminal, c.JSON, &runRecord{*run, decisions}, func(record *runRecord, now time.Time) []console.Field {
			fields := c.fields(&record.RunView, now)
			for i := range record.Decisions {
				decision := &record.Decisions[i]
				fields = append(fields, console.Field{"decided", decision.RequestID + " " + resolutionText(decision) + ", " + console.Ago(decision.ResolvedAtMs, now)})
			}
			return fields
		})
		if err != nil || !c.Follow {
			return err
		}
		return c.follow(ctx, terminal, opened, newest)
	})
}

// follow prints the events after one, and continues after a lost connection.
func (c *runsShow) follow(ctx context.Context, terminal *console.Console, opened *client.Client, after string) error {
	ctx, stop := console.UntilSignal(ctx)
	defer stop()
	for event, err := range opened.StreamRun(ctx, c.RunID, after) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case event.Event == nil:
		case c.JSON:
			if err := console.PrintJSONLine(terminal.Stdout, event.Event); err != nil {
				return err
			}
		default:
			kind, what := eventText(event.Event)
			if _, err := terminal.Stdout.Write([]byte(console.Printable(event.Event.ID+"  "+kind+"  "+what, false) + "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}
