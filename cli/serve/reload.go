package serve

import (
	"context"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
	assembly "github.com/holdpoint/holdpoint/internal/service"
)

// Again reads the flags, environment and configuration file again, and checks them as [Command.Check] does.
type Again func() (*Command, error)

// hangUps returns the signals that ask for a reload. Unless caught, they end a process.
func hangUps() (received <-chan os.Signal, stop func()) {
	return console.Notify(console.ReloadSignals...)
}

// reloadable are the fields whose new values are used without a restart.
var reloadable = map[string]bool{"LogLevel": true}

// certificateInterval is how often the certificates are read again. In a container nobody can send a signal to the service
// when a mounted certificate is renewed.
const certificateInterval = time.Minute

// reloadOn reloads at each signal, and renews certificates at each tick, until ctx ends.
func (s *service) reloadOn(ctx context.Context, received <-chan os.Signal, ticks <-chan time.Time, again Again) error {
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-received:
			s.reload(ctx, again)
		case <-ticks:
			failing = s.renew(ctx, failing)
		}
	}
}

// renew applies certificates that have changed, and reports whether they are invalid. It logs the first of several failures
// in a row.
func (s *service) renew(ctx context.Context, failing bool) bool {
	changed, err := s.files.reload()
	switch {
	case err != nil && !failing:
		s.keptCertificate(ctx, err)
	case changed:
		s.logger.LogAttrs(ctx, slog.LevelInfo, "reloaded certificates, which had changed")
	}
	return err != nil
}

// keptCertificate logs that new certificates are invalid.
func (s *service) keptCertificate(ctx context.Context, err error) {
	s.logger.LogAttrs(ctx, slog.LevelError, "the certificate is the one of before", slog.String("cause", err.Error()))
}

// readSecretKeys reloads the file of secret keys until ctx ends.
func (s *service) readSecretKeys(ctx context.Context) error {
	return assembly.ReloadSecretKeys(ctx, s.secretKeys, func(err error) {
		s.logger.LogAttrs(ctx, slog.LevelError, "the secret keys are the ones of before", slog.String("cause", err.Error()))
	})
}

// reload applies new certificates and other settings that may change at run time. It logs
// settings that are invalid and keeps the old ones.
func (s *service) reload(ctx context.Context, again Again) {
	_, badCertificate := s.files.reload()
	if badCertificate != nil {
		s.keptCertificate(ctx, badCertificate)
	}
	read, err := again()
	if err != nil {
		s.logger.LogAttrs(ctx, slog.LevelError, "the configuration is the one of before", slog.String("cause", err.Error()))
		return
	}
	if waiting := s.changedBy(read); len(waiting) > 0 {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "changes that take a restart", slog.Any("flags", waiting))
	}
	level := slog.String("log_level", read.LogLevel.String())
	if badCertificate != nil {
		s.logger.LogAttrs(ctx, slog.LevelInfo, "reloaded the configuration alone", level)
	} else {
		s.logger.LogAttrs(ctx, slog.LevelInfo, "reloaded certificates and configuration", level)
	}
	s.logLevel.Set(read.LogLevel)
}

// changedBy returns the changed flags that require a restart.
func (c *Command) changedBy(read *Command) []string {
	var changed []string
	before, after := reflect.ValueOf(*c), reflect.ValueOf(*read)
	for i := range before.NumField() {
		field := before.Type().Field(i)
		if reloadable[field.Name] || reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			continue
		}
		changed = append(changed, flagOf(field))
	}
	return changed
}

// flagOf returns the flag of a field: ListenFile is --listen-file.
func flagOf(field reflect.StructField) string {
	if field.Anonymous {
		return "--database"
	}
	if name := field.Tag.Get("name"); name != "" {
		return "--" + name
	}
	var name strings.Builder
	for _, letter := range field.Name {
		if letter >= 'A' && letter <= 'Z' {
			name.WriteByte('-')
		}
		name.WriteRune(letter)
	}
	return "-" + strings.ToLower(name.String())
}
