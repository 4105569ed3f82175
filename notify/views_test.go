package notify_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// unsent is a reader of messages that were not sent, oldest first.
type unsent struct {
	notify.Reader
	effects []model.Effect
}

func (u *unsent) of(state api.EffectState) (found []model.Effect) {
	for i := range u.effects {
		if u.effects[i].State == state {
			found = append(found, u.effects[i])
		}
	}
	return found
}

func (u *unsent) CountEffects(_ context.Context, q reads.EffectQuery) (int64, error) {
	return int64(len(u.of(q.State))), nil
}

func (u *unsent) Effects(_ context.Context, q reads.EffectQuery) ([]model.Effect, error) {
	found := u.of(q.State)
	if q.Newest {
		slices.Reverse(found)
	}
	return found[:min(len(found), q.Limit)], nil
}

// The last error of a channel is of the newest message that is retried, or else of the newest that was given up.
func TestTheLastErrorOfAChannel(t *testing.T) {
	t.Parallel()
	reader := &unsent{}
	for n := range 30 {
		reader.effects = append(reader.effects,
			model.Effect{State: api.EffectPending, LastError: fmt.Sprint("retried ", n)}, model.Effect{State: api.EffectFailed, LastError: fmt.Sprint("given up ", n)})
	}
	reader.effects = append(reader.effects, model.Effect{State: api.EffectPending, LastError: model.HeldAtInbox}, model.Effect{State: api.EffectPending, LastError: model.HeldByFlood})
	service := notify.New(notify.Options{Reader: reader, Channels: map[string]notify.Channel{"pager": &pager{}}})
	for range 20 {
		list, err := service.Views(t.Context())
		require.NoError(t, err)
		require.Equal(t, []api.Channel{{Name: "pager", Kind: api.ChannelHTTP, Links: api.LinkNone, Pending: 32, Failed: 30, LastError: "retried 29"}}, list.Data)
	}
	for range 25 {
		reader.effects = append(reader.effects, model.Effect{State: api.EffectPending})
	}
	list, err := service.Views(t.Context())
	require.NoError(t, err)
	require.Equal(t, "retried 19", list.Data[0].LastError, "of the oldest, if the newest were not tried yet")
	reader.effects = reader.of(api.EffectFailed)
	list, err = service.Views(t.Context())
	require.NoError(t, err)
	require.Equal(t, "given up 29", list.Data[0].LastError)
}
