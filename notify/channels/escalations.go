package channels

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
)

// Limits of named escalations. Each request has a copy.
const (
	maxNamed      = 32
	maxNamedBytes = 16 << 10
)

// namedEscalation is an escalation in the file. Its members are the same as in api.Escalation.
type namedEscalation struct {
	Calendar   string             `yaml:"calendar"`
	Steps      []step             `yaml:"steps"`
	AtDeadline api.DeadlineAction `yaml:"at_deadline"`
}

type step struct {
	AfterMs  int64    `yaml:"after_ms"`
	Notify   []string `yaml:"notify"`
	AlsoFrom []string `yaml:"also_from"`
	EveryMs  int64    `yaml:"every_ms"`
	Times    int64    `yaml:"times"`
	Urgent   bool     `yaml:"urgent"`
}

// addNamed adds the named escalations and the default to the settings, which have everything that they
// may name.
func (f *file) addNamed(settings *escalation.Settings) error {
	if len(f.Escalations) > maxNamed {
		return fmt.Errorf("escalations must have at most %d entries", maxNamed)
	}
	settings.Named = map[string]*escalation.Named{}
	for name, given := range f.Escalations {
		if err := checkName("escalation", name); err != nil {
			return err
		}
		made, err := given.make(name, settings)
		if err != nil {
			return fmt.Errorf("escalation %s: %w", name, err)
		}
		settings.Named[name] = made
	}
	settings.Default = f.DefaultEscalation
	if settings.Default != "" && settings.Named[settings.Default] == nil {
		return fmt.Errorf("default_escalation: there is no escalation %q", settings.Default)
	}
	return nil
}

func (e *namedEscalation) make(name string, settings *escalation.Settings) (*escalation.Named, error) {
	made := api.Escalation{Calendar: e.Calendar, AtDeadline: e.AtDeadline}
	for _, one := range e.Steps {
		made.Steps = append(made.Steps, api.EscalationStep{
			AfterMs: one.AfterMs, Notify: one.Notify, AlsoFrom: one.AlsoFrom, EveryMs: one.EveryMs, Times: one.Times, Urgent: one.Urgent,
		})
	}
	if len(made.Steps) == 0 {
		return nil, errors.New("steps must have at least one entry")
	}
	if err := runs.CheckNamed(&made); err != nil {
		return nil, err
	}
	if made.Calendar != "" && settings.Calendar(made.Calendar) == nil {
		return nil, fmt.Errorf("there is no calendar %q", made.Calendar)
	}
	for i := range made.Steps {
		for _, selector := range slices.Concat(made.Steps[i].Notify, made.Steps[i].AlsoFrom) {
			if source, is := strings.CutPrefix(selector, runs.SelectOnCall); is && !settings.HasOnCall(source) {
				return nil, fmt.Errorf("there is no on-call source %q", source)
			}
		}
	}
	named := escalation.NewNamed(name, made)
	if len(named.Form.Text) > maxNamedBytes {
		return nil, fmt.Errorf("must have at most %d bytes", maxNamedBytes)
	}
	return named, nil
}
