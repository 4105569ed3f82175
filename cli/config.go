package cli

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/serve"
	"github.com/holdpoint/holdpoint/store"
)

type configCommand struct {
	Print configPrint `cmd:"" help:"Print the effective configuration, without secrets."`
}

type configPrint struct{ serve.Command }

// Run prints a JSON object, which can be used as a configuration file if no value was
// hidden. It refuses whatever serve refuses.
func (c *configPrint) Run(terminal *console.Console, ctx *kong.Context) error {
	if err := c.Check(terminal); err != nil {
		return err
	}
	values := map[string]any{}
	for _, flag := range ctx.Selected().Flags {
		if flag.Name == "config" || flag.Name == "help" || flag.Target.Kind() == reflect.Func {
			continue
		}
		values[strings.ReplaceAll(flag.Name, "-", "_")] = shown(flag)
	}
	return console.PrintJSON(terminal.Stdout, values)
}

// withoutSecrets hides the secret parts of flags that may hold a password or a secret path.
var withoutSecrets = map[string]func(string) string{
	"database": store.WithoutPassword, "direct-database": store.WithoutPassword, "review-hook": serve.HookHost, "otlp-endpoint": serve.HookHost,
}

func shown(flag *kong.Flag) any {
	value := flag.Target.Interface()
	if text, ok := value.(string); ok {
		if hide := withoutSecrets[flag.Name]; hide != nil && text != "" && !strings.HasPrefix(text, "sqlite:") {
			return hide(text)
		}
		return text
	}
	switch value := value.(type) {
	case bool, int64, int:
		return value
	case []string:
		return append([]string{}, slices.Clone(value)...)
	case encoding.TextMarshaler:
		if text, err := value.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(value)
}
