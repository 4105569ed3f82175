package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/webhooks"
)

// secretKeyVariable holds the keys themselves if there is no file.
const secretKeyVariable = "HOLDPOINT_SECRET_KEY"

// SecretKeys returns the keys of a file, or of the environment if the path is empty; nil if
// there are none.
func SecretKeys(terminal *console.Console, path string) (*sealing.Keys, error) {
	return secretKeys(terminal, path, sealing.ReadFile)
}

// ServiceKeys is [SecretKeys] for the service, which creates a missing file.
func ServiceKeys(terminal *console.Console, path string) (*sealing.Keys, error) {
	return secretKeys(terminal, path, sealing.Load)
}

// CheckServiceKeys returns the error with which [ServiceKeys] refuses the environment. It neither
// reads nor creates the file.
func CheckServiceKeys(terminal *console.Console, path string) error {
	_, err := keysInEnvironment(terminal, path)
	return err
}

// keysInEnvironment returns the keys of the environment, nil if there are none. It refuses them
// next to a file of keys.
func keysInEnvironment(terminal *console.Console, path string) (*sealing.Keys, error) {
	text, _ := terminal.LookupEnv(secretKeyVariable)
	switch {
	case text == "":
		return nil, nil
	case path != "":
		return nil, console.Usage("--secret-key-file and $%s are both set; use one of them", secretKeyVariable)
	}
	keys, err := sealing.Parse(text)
	if err != nil {
		return nil, console.Usage("$%s: %w", secretKeyVariable, err)
	}
	return keys, nil
}

func secretKeys(terminal *console.Console, path string, load func(path string) (*sealing.Keys, error)) (*sealing.Keys, error) {
	keys, err := keysInEnvironment(terminal, path)
	if err != nil || path == "" {
		return keys, err
	}
	keys, err = load(path)
	if err != nil {
		return nil, console.Usage("--secret-key-file: %w", err)
	}
	return keys, nil
}

// rewrapWebhooks encrypts the data keys of webhooks with the first key, and returns the
// number of changes.
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
		err = manager.Rewrap(auth.With(ctx, auth.CommandLine()), endpoints[i].WebhookID, rewrapped)
		switch {
		case refusal.CodeOf(err) == api.CodeWebhookNotFound: // deleted since it was listed, with its key
		case err != nil:
			return changed, fmt.Errorf("webhook %s: %w", endpoints[i].WebhookID, err)
		default:
			changed++
		}
	}
	return changed, nil
}

// Secrets holds the commands for encrypted values in a database.
type Secrets struct {
	Rewrap rewrap `cmd:"" help:"Re-encrypt all data keys with the first key, so that you can drop the older keys."`
}

type rewrap struct {
	Flag
	console.Format
	SecretKeyFile string `from:"HOLDPOINT_SECRET_KEY_FILE" placeholder:"PATH" help:"Keys, one per line; the first one encrypts ($$HOLDPOINT_SECRET_KEY_FILE, or the keys in $$HOLDPOINT_SECRET_KEY)."`
}

// Help returns the text below the flags in --help.
func (c *rewrap) Help() string {
	return "Only data keys are re-encrypted, not the values. On Postgres the service may keep running, with the new key first and the old keys after it."
}

// Run encrypts the data keys with the first key.
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
	done, err := rewrapAll(ctx, opened, keys, func() int64 { return terminal.Now().UnixMilli() })
	if err != nil {
		return err
	}
	if c.JSON {
		return console.PrintJSON(terminal.Stdout, done)
	}
	fmt.Fprintf(terminal.Stdout, "%d data keys are now encrypted with %s\n", done.Changed, done.KeyID)
	if done.Unreadable > 0 {
		fmt.Fprintf(terminal.Stdout, "%d callbacks were skipped: they are encrypted with unknown keys and cannot be posted\n", done.Unreadable)
	}
	return nil
}

// rewrapped is the JSON that rewrap prints.
type rewrapped struct {
	Changed int    `json:"changed"`
	KeyID   string `json:"key_id"`
	// Unreadable counts callbacks encrypted with unknown keys.
	Unreadable int `json:"unreadable,omitzero"`
}

// rewrapAll encrypts the data keys of webhooks, runs and callbacks with the first key.
func rewrapAll(ctx context.Context, opened store.Store, keys *sealing.Keys, nowMs func() int64) (rewrapped, error) {
	done := rewrapped{KeyID: keys.First()}
	changed, err := rewrapWebhooks(ctx, opened, keys, nowMs)
	done.Changed += changed
	if err != nil {
		return done, err
	}
	changed, err = rewrapRuns(ctx, opened, keys)
	done.Changed += changed
	if err != nil {
		return done, err
	}
	changed, done.Unreadable, err = rewrapCallbacks(ctx, opened, keys)
	done.Changed += changed
	return done, err
}

// runKeys is the part of a store with the data keys of runs.
type runKeys interface {
	DataKeys(ctx context.Context, after string, limit int) ([]reads.RunKey, error)
	Do(ctx context.Context, command runs.Command) (runs.Reply, error)
}

// rewrapRuns encrypts the data keys of runs with the first key, and returns the number of
// changes.
func rewrapRuns(ctx context.Context, opened runKeys, keys *sealing.Keys) (changed int, err error) {
	for after := ""; ; {
		page, err := opened.DataKeys(ctx, after, store.KeyPage)
		if err != nil {
			return changed, err
		}
		for _, one := range page {
			after = one.RunID
			rewrapped, err := keys.Rewrap(one.DataKey)
			if err != nil {
				return changed, fmt.Errorf("run %s: %w", one.RunID, err)
			}
			if rewrapped == one.DataKey {
				continue
			}
			reply, err := opened.Do(ctx, &runs.RewrapDataKey{RunKey: one, Rewrapped: rewrapped})
			switch {
			case refusal.CodeOf(err) == api.CodeRunNotFound: // trimmed since the page was read, with its key
			case err != nil:
				return changed, fmt.Errorf("run %s: %w", one.RunID, err)
			case !reply.Existing:
				changed++
			}
		}
		if len(page) < store.KeyPage {
			return changed, nil
		}
	}
}

// rewrapCallbacks encrypts the data keys of callbacks with the first key, including those
// already posted, which may be posted again. Callbacks encrypted with an unknown key are
// left unchanged and counted, because that key may be lost.
func rewrapCallbacks(ctx context.Context, opened upkeep.Rewrapper, keys *sealing.Keys) (changed, unreadable int, err error) {
	for changedMeanwhile := true; changedMeanwhile; {
		changedMeanwhile, unreadable = false, 0
		var after upkeep.SealedRequest
		for count := store.KeyPage; count == store.KeyPage; {
			page, err := opened.SealedRequests(ctx, after, store.KeyPage)
			if err != nil {
				return changed, unreadable, err
			}
			for i := range page {
				after = page[i]
				rewrapped, err := rewrapCallback(keys, after.Sealed)
				switch {
				case errors.As(err, new(*sealing.UnknownKeyError)):
					unreadable++
					continue
				case err != nil:
					return changed, unreadable, fmt.Errorf("request %s of run %s: %w", after.RequestID, after.RunID, err)
				case rewrapped == nil:
					continue
				}
				did, err := opened.RewrapRequest(ctx, after, rewrapped)
				if err != nil {
					return changed, unreadable, fmt.Errorf("request %s of run %s: %w", after.RequestID, after.RunID, err)
				}
				if did {
					changed++
				}
				changedMeanwhile = changedMeanwhile || !did
			}
			count = len(page)
		}
	}
	return changed, unreadable, nil
}

// rewrapCallback returns a request's sealed members with the callback's data key encrypted
// with the first key; nil if nothing changes.
func rewrapCallback(keys *sealing.Keys, sealed api.JSON) (api.JSON, error) {
	if sealed == nil {
		return nil, nil
	}
	var values model.SealedValues
	if err := json.Unmarshal(sealed, &values); err != nil {
		return nil, err
	}
	rewrapped, err := keys.Rewrap(values.Callback.DataKey)
	if err != nil || rewrapped == values.Callback.DataKey {
		return nil, err
	}
	values.Callback.DataKey = rewrapped
	return document.Encode(values), nil
}
