package serve

import (
	"log/slog"
	"reflect"
	"strings"
)

// warnOfUnreadVariables logs which variables have the name of a flag that has no variable. Who sets HOLDPOINT_MIGRATE=off believes
// that the service does not migrate.
func (s *service) warnOfUnreadVariables(lookupEnv func(string) (string, bool)) {
	if unread := unreadVariables(lookupEnv); len(unread) > 0 {
		s.logger.Warn("nothing reads these variables; use the flags, or the file of --config", slog.Any("variables", unread))
	}
}

func unreadVariables(lookupEnv func(string) (string, bool)) (unread []string) {
	command := reflect.TypeFor[Command]()
	for i := range command.NumField() {
		field := command.Field(i)
		if field.Anonymous || field.Name == "Config" { // the variables of both are read elsewhere
			continue
		}
		name := "HOLDPOINT_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flagOf(field), "--"), "-", "_"))
		if value, _ := lookupEnv(name); value != "" && name != field.Tag.Get("from") {
			unread = append(unread, name)
		}
	}
	return unread
}
