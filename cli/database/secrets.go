package database

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/webhooks"
)

// secretKeyVariable holds the keys themselves, where no file does.
const secretKeyVariable = "HOLDPOINT_SECRET_KEY"

// SecretKeys returns the keys of a file, or of the environment when the path is empty. It returns nil
// without any.
func SecretKeys(terminal *console.Console, path string) (*sealing.Keys, error) {
	inEnvironment, _ := terminal.LookupEnv(secretKeyVariable)
	switch {
	case path == "" && inEnvironment == "":
		return nil, nil
	case path == "":
		keys, err := sealing.Parse(inEnvironment)
		if err != nil {
			return nil, console.Usage("$%s: %w", secretKeyVariable, err)
		}
		return keys, nil
	case inEnvironment != "":
		return nil, console.Usage("--secret-key-file and $%s are both there: which keys are meant?", secretKeyVariable)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, console.Usage("--secret-key-file: %w", err)
	}
	keys, err := sealing.Parse(string(text))
	if err != nil {
		return nil, console.Usage("--secret-key-file: %w", err)
	}
	return keys, nil
}

// keyPage is how many data keys are read at once.
const keyPage = 1_000

// CheckSecretKeys returns an error when the database has sensitive values, or secrets of webhooks, that
// the keys, nil for none, do not decrypt. It looks at the first 1,000 runs that have some.
func CheckSecretKeys(ctx context.Context, opened store.Store, keys *sealing.Keys) error {
	found, err := opened.DataKeys(ctx, "", keyPage)
	if err != nil {
		return err
	}
	for _, one := range found {
		if keys == nil {
			return fmt.Errorf("run %s waits with sensitive values, encrypted with the key %s: give it with --secret-key-file", one.RunID, sealing.KeyIDOf(one.DataKey))
		}
		if _, err := keys.Rewrap(one.DataKey); err != nil {
			return fmt.Errorf("the sensitive values of run %s are encrypted with the key %s, and cannot be read with --secret-key-file: add that key as a further line: %w",
				one.RunID, sealing.KeyIDOf(one.DataKey), err)
		}
	}
	endpoints, err := opened.Webhooks(ctx)
	if err != nil {
		return err
	}
	for i := range endpoints {
		dataKey := endpoints[i].DataKey
		if keys == nil {
			return fmt.Errorf("the secret of webhook %s is encrypted with the key %s: give it with --secret-key-file", endpoints[i].WebhookID, sealing.KeyIDOf(dataKey))
		}
		if _, err := keys.Rewrap(dataKey); err != nil {
			return fmt.Errorf("the secret of webhook %s is encrypted with the key %s, and cannot be read with --secret-key-file: add that key as a further line: %w",
				endpoints[i].WebhookID, sealing.KeyIDOf(dataKey), err)
		}
	}
	return nil
}

// rewrapWebhooks encrypts the data keys of webhooks with the first key, and returns how many it changed.
func rewrapWebhooks(ctx context.Context, opened store.Store, keys *sealing.Keys, nowMs func() int64) (changed int, err error) {
	manager := webhooks.NewManager(webhooks.Options{Store: opened, Sealer: keys, NowMs: nowMs})
	endpoints, err := manager.List(ctx)
	if err != nil {
		return 0, err
	}
	for i := range endpoints {
		rewrapped, err := keys.Rewrap(endpoints[i].DataKey)
		if err != nil {
			return changed, fmt.Errorf("webhook %s: %w", endpoints[i].WebhookID, err)
		}
		if rewrapped == endpoints[i].DataKey {
			continue
		}
		if err := manager.Rewrap(auth.With(ctx, auth.CommandLine()), endpoints[i].WebhookID, rewrapped); err != nil {
			return changed, fmt.Errorf("webhook %s: %w", endpoints[i].WebhookID, err)
		}
		changed++
	}
	return changed, nil
}

// Secrets looks after what is encrypted in a database.
type Secrets struct {
	Rewrap rewrap `cmd:"" help:"Encrypt every data key with the first key, so that the older keys can be dropped."`
}

type rewrap struct {
	Flag
	console.Format
	SecretKeyFile string `from:"HOLDPOINT_SECRET_KEY_FILE" placeholder:"PATH" help:"The keys, one a line; the first encrypts ($$HOLDPOINT_SECRET_KEY_FILE, or the keys in $$HOLDPOINT_SECRET_KEY)."`
}

// Help returns what --help shows under the flags.
func (c *rewrap) Help() string {
	return "The values stay as they are. On Postgres replicas may go on meanwhile, with the new key first and the old ones behind it."
}

// Run encrypts the data keys.
func (c *rewrap) Run(ctx context.Context, terminal *console.Console) (err error) {
	keys, err := SecretKeys(terminal, c.SecretKeyFile)
	switch {
	case err != nil:
		return err
	case keys == nil:
		return console.Usage("give the keys with --secret-key-file")
	}
	opened, err := c.Open(ctx, store.Options{KeepSchema: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	changed, err := rewrapWebhooks(ctx, opened, keys, func() int64 { return terminal.Now().UnixMilli() })
	if err != nil {
		return err
	}
	after := ""
	for {
		page, err := opened.DataKeys(ctx, after, keyPage)
		if err != nil {
			return err
		}
		for _, one := range page {
			rewrapped, err := keys.Rewrap(one.DataKey)
			if err != nil {
				return fmt.Errorf("run %s: %w", one.RunID, err)
			}
			if rewrapped == one.DataKey {
				continue
			}
			if _, err := opened.Do(ctx, &runs.RewrapDataKey{RunKey: one, Rewrapped: rewrapped}); err != nil {
				return fmt.Errorf("run %s: %w", one.RunID, err)
			}
			changed++
		}
		if len(page) < keyPage {
			if c.JSON {
				return console.PrintJSON(terminal.Stdout, struct {
					Changed int    `json:"changed"`
					KeyID   string `json:"key_id"`
				}{changed, keys.First()})
			}
			fmt.Fprintf(terminal.Stdout, "%d data keys are now encrypted with %s\n", changed, keys.First())
			return nil
		}
		after = page[len(page)-1].RunID
	}
}
