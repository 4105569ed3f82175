package console

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/prompt"
)

// Context is a named service with its credentials.
type Context struct {
	Server string `json:"server"`
	Actor  string `json:"actor,omitempty"`
	// Token is a secret. It is only sent to Server.
	Token string `json:"token,omitempty"`
	// Paths of --ca, --client-cert and --client-key, only used for Server.
	CA         string `json:"ca,omitempty"`
	ClientCert string `json:"client_cert,omitempty"`
	ClientKey  string `json:"client_key,omitempty"`
}

// Contexts is the file of contexts.
type Contexts struct {
	Current  string             `json:"current,omitempty"`
	Contexts map[string]Context `json:"contexts"`

	path string
}

// LoadContexts reads $HOLDPOINT_CONTEXTS, or else holdpoint/contexts.json in the user's
// configuration directory; a missing file has no contexts. Because of the tokens it refuses
// a file that other users can read.
func LoadContexts(lookupEnv func(string) (string, bool)) (*Contexts, error) {
	path, err := contextsPath(lookupEnv)
	contexts := &Contexts{Contexts: map[string]Context{}, path: path}
	if err != nil || path == "" {
		return contexts, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return contexts, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the contexts: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, Usage("%s has tokens but other users can read it: chmod 600 %s", path, prompt.QuoteArgument(path))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the contexts: %w", err)
	}
	if err := json.Unmarshal(text, contexts, json.RejectUnknownMembers(true)); err != nil {
		return nil, Usage("%s: %w", path, err)
	}
	if contexts.Contexts == nil {
		contexts.Contexts = map[string]Context{}
	}
	return contexts, nil
}

func contextsPath(lookupEnv func(string) (string, bool)) (string, error) {
	if path, _ := lookupEnv("HOLDPOINT_CONTEXTS"); path != "" {
		return path, nil
	}
	directory, _ := lookupEnv("XDG_CONFIG_HOME")
	if directory == "" {
		home, _ := lookupEnv("HOME")
		if home == "" {
			return "", nil
		}
		directory = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(directory) {
		return "", Usage("XDG_CONFIG_HOME and HOME must be absolute paths")
	}
	return filepath.Join(directory, "holdpoint", "contexts.json"), nil
}

// Save writes the file, readable only by its owner.
func (c *Contexts) Save() error {
	if c.path == "" {
		return Usage("no location for contexts: set HOLDPOINT_CONTEXTS or HOME")
	}
	text, err := json.Marshal(c, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(c.path), ".contexts-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), c.path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // already gone after the rename
		return fmt.Errorf("write the contexts: %w", err)
	}
	return nil
}

// Names returns the sorted names.
func (c *Contexts) Names() []string {
	return slices.Sorted(maps.Keys(c.Contexts))
}

// Choose returns the context named on the command line or in the environment, or else the
// current one; an empty one if there is none.
func (c *Contexts) Choose(args []string, lookupEnv func(string) (string, bool)) (Context, error) {
	name, given := FlagValue(args, "--context")
	if !given {
		name, _ = lookupEnv("HOLDPOINT_CONTEXT")
	}
	if name = cmp.Or(name, c.Current); name == "" {
		return Context{}, nil
	}
	chosen, there := c.Contexts[name]
	if !there {
		return Context{}, c.Unknown(name)
	}
	return chosen, nil
}

// Unknown returns the usage error for a context that does not exist.
func (c *Contexts) Unknown(name string) error {
	if len(c.Contexts) == 0 {
		return Usage("no context %q; create one with: %s contexts set", name, Program())
	}
	return Usage("no context %q; choose from: %s", name, strings.Join(c.Names(), ", "))
}

// FlagValue finds a flag on a command line, and stops before the command line of another program.
func FlagValue(args []string, flag string) (value string, given bool) {
	for i, argument := range args {
		switch {
		case argument == "--":
			return "", false
		case argument == flag && i+1 < len(args):
			return args[i+1], true
		case strings.HasPrefix(argument, flag+"="):
			return strings.TrimPrefix(argument, flag+"="), true
		}
	}
	return "", false
}
