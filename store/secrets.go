package store

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// KeyPage is how many data keys are read at once.
const KeyPage = 1_000

// CheckSecretKeys returns an error if the keys, nil for none, cannot decrypt the database's
// sensitive values, webhook secrets or callbacks that are still to be posted. It checks the first 1,000 runs and
// callbacks that have some, and of open requests the first 10,000.
func CheckSecretKeys(ctx context.Context, opened Store, keys *sealing.Keys) error {
	found, err := opened.DataKeys(ctx, "", KeyPage)
	if err != nil {
		return err
	}
	for _, one := range found {
		if err := readable(keys, one.DataKey, "a sensitive value of run "+one.RunID); err != nil {
			return err
		}
	}
	endpoints, err := opened.Webhooks(ctx)
	if err != nil {
		return err
	}
	for i := range endpoints {
		if err := readable(keys, endpoints[i].DataKey, "the secret of webhook "+endpoints[i].WebhookID); err != nil {
			return err
		}
	}
	return checkCallbackKeys(ctx, opened, keys)
}

// checkCallbackKeys does so for callbacks of open requests and for pending ones. Finished deliveries no longer need
// their key.
func checkCallbackKeys(ctx context.Context, opened upkeep.Rewrapper, keys *sealing.Keys) error {
	owed, err := opened.OwedCallbacks(ctx, KeyPage)
	if err != nil {
		return err
	}
	for i := range owed {
		var values model.SealedValues
		if err := json.Unmarshal(owed[i].Sealed, &values); err != nil || values.Callback == nil {
			continue // the doctor finds it, and its delivery fails alone
		}
		what := fmt.Sprintf("the callback of request %s of run %s", owed[i].RequestID, owed[i].RunID)
		if err := readable(keys, values.Callback.DataKey, what); err != nil {
			return err
		}
	}
	return nil
}

// readable returns an error if the keys, nil for none, cannot decrypt a data key. what names the value in it.
func readable(keys *sealing.Keys, dataKey, what string) error {
	if keys == nil {
		return fmt.Errorf("%s is encrypted with the key %s: give it with --secret-key-file", what, sealing.KeyIDOf(dataKey))
	}
	if _, err := keys.Rewrap(dataKey); err != nil {
		return fmt.Errorf("%s is encrypted with the key %s, and cannot be read with --secret-key-file: add that key as a further line: %w",
			what, sealing.KeyIDOf(dataKey), err)
	}
	return nil
}
