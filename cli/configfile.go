package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// configVariable names the configuration file if --config is not given.
const configVariable = "HOLDPOINT_CONFIG"

// configFile sets flags of commands that have --config from a JSON object, unless they are
// given or set in the environment. Its members are named like the flags, with - or _
// between words.
type configFile struct {
	lookupEnv func(string) (string, bool)
	// read has the values of the file at path, as on a command line.
	path string
	read map[string]string
}

var _ kong.Resolver = (*configFile)(nil)

// Validate implements [kong.Resolver].
func (*configFile) Validate(*kong.Application) error { return nil }

// Resolve implements [kong.Resolver].
func (f *configFile) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	path, flags := f.pathOf(ctx)
	if path == "" || flag.Name == "config" || !slices.Contains(flags, flag.Name) {
		return nil, nil
	}
	if f.read == nil || f.path != path {
		read, err := readConfig(path, flags)
		if err != nil {
			return nil, &configError{err}
		}
		f.path, f.read = path, read
	}
	if value, there := f.read[flag.Name]; there {
		return value, nil
	}
	return nil, nil
}

// configError is about the file as a whole. The parser puts the name of a flag before it.
type configError struct{ cause error }

func (e *configError) Error() string { return e.cause.Error() }
func (e *configError) Unwrap() error { return e.cause }

// aboutFile returns an error about the configuration file without the flag that the parser looked for.
func aboutFile(err error) error {
	if file := (*configError)(nil); errors.As(err, &file) {
		return file
	}
	return err
}

// pathOf returns the path of the file and the flags that it may set; the path is empty for
// a command without --config.
func (f *configFile) pathOf(ctx *kong.Context) (path string, flags []string) {
	selected := ctx.Selected()
	if selected == nil {
		return "", nil
	}
	for _, flag := range selected.Flags {
		if flag.Name != "config" {
			flags = append(flags, flag.Name)
			continue
		}
		if path, _ = ctx.FlagValue(flag).(string); path == "" {
			path, _ = f.lookupEnv(configVariable)
		}
	}
	return path, flags
}

// readConfig reads a file. It refuses unknown members, so that a typo does not silently
// leave a default in force.
func readConfig(path string, flags []string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(text, &members); err != nil { // unlike encoding/json it refuses a member that is given twice
		return nil, fmt.Errorf("configuration %s: must be a JSON object of flags: %w", path, err)
	}
	read := map[string]string{}
	for member, value := range members {
		name := strings.ReplaceAll(member, "_", "-")
		if !slices.Contains(flags, name) {
			return nil, fmt.Errorf("configuration %s: unknown flag %q", path, member)
		}
		if _, twice := read[name]; twice {
			return nil, fmt.Errorf("configuration %s: %q is given twice", path, name)
		}
		if read[name], err = asFlag(value); err != nil {
			return nil, fmt.Errorf("configuration %s: %q: %w", path, member, err)
		}
	}
	return read, nil
}

var errConfigValue = errors.New("must be a string, a number, true, false, or a list of strings without commas")

func asFlag(text []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	switch value := value.(type) {
	case string:
		return value, nil
	case bool:
		return strconv.FormatBool(value), nil
	case json.Number:
		return plainNumber(value)
	case []any:
		texts := make([]string, len(value))
		for i, item := range value {
			text, ok := item.(string)
			if !ok || strings.Contains(text, ",") {
				return "", errConfigValue
			}
			texts[i] = text
		}
		return strings.Join(texts, ","), nil
	}
	return "", errConfigValue
}

// plainNumber returns a number in the form in which a command line has it, without an exponent. An integer keeps all
// its digits.
func plainNumber(number json.Number) (string, error) {
	if _, err := number.Int64(); err == nil {
		return number.String(), nil
	}
	value, err := number.Float64()
	if err != nil {
		return "", errConfigValue
	}
	return strconv.FormatFloat(value, 'f', -1, 64), nil
}
