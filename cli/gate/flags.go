package gate

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// checkKey validates --key; nil if it was not given.
func checkKey(key *string) error {
	if key != nil && *key == "" {
		return console.Usage("--key is empty: give one, or leave it out")
	}
	return nil
}

func keyOf(key *string) string {
	if key == nil {
		return ""
	}
	return *key
}

// hints returns the remarks of --hint.
func (c *Exec) hints() (hints []api.Hint, err error) {
	if len(c.Hint) > api.MaxHints {
		return nil, console.Usage("--hint may be given at most %d times", api.MaxHints)
	}
	for _, given := range c.Hint {
		level, text, _ := strings.Cut(given, ":")
		hint := api.Hint{Level: api.HintLevel(level), Text: strings.TrimSpace(text)}
		switch hint.Level {
		case api.HintInfo, api.HintWarn, api.HintDanger:
		default:
			return nil, console.Usage("--hint %q must be LEVEL:TEXT, with the level info, warn or danger", given)
		}
		if hint.Text == "" || len(hint.Text) > api.MaxHintLength || !utf8.ValidString(hint.Text) {
			return nil, console.Usage("--hint %q must have a text of 1 to %d bytes of UTF-8", given, api.MaxHintLength)
		}
		hints = append(hints, hint)
	}
	return hints, nil
}
