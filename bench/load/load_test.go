package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pretended takes a few milliseconds per wait, or fails.
type pretended struct{ err error }

func (p pretended) Wait(context.Context) (Steps, error) {
	now := time.Now()
	time.Sleep(2 * time.Millisecond)
	// The handler starts before the reply to the decision.
	return Steps{DecisionSent: now, HandlerStarted: now.Add(time.Millisecond), DecisionAccepted: now.Add(2 * time.Millisecond)}, p.err
}

func (p pretended) Close() error { return nil }

func TestMainReports(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	options := Options{Target: "nothing", Clients: 3, Duration: time.Minute, Waits: 10}
	err := Main(t.Context(), options.Arguments(), strings.NewReader("\n"), &out, func(_ context.Context, given Options) (Subject, error) {
		require.Equal(t, options, given)
		return pretended{}, nil
	})
	require.NoError(t, err)
	var lines []Line
	decoder := json.NewDecoder(&out)
	for {
		var line Line
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		lines = append(lines, line)
	}
	require.Len(t, lines, 3)
	require.Equal(t, Began, lines[0].Mark)
	require.Equal(t, Ended, lines[1].Mark)
	result := lines[2].Result
	require.Equal(t, 10, result.Waits)
	require.GreaterOrEqual(t, result.Whole.P50, int64(2000))
	require.Zero(t, result.Delivery.Max)
	require.Equal(t, int64(1000), result.SentToHandler.P99)
}

func TestAFailedWaitEndsTheMeasurement(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := Run(t.Context(), pretended{broken}, Options{Clients: 2, Duration: time.Minute}, func() {}, func() {})
	require.ErrorIs(t, err, broken)
}

func TestHandovers(t *testing.T) {
	t.Parallel()
	var handovers Handovers[int]
	broken := errors.New("broken")
	require.Error(t, handovers.Handle(1, func() error { return nil }), "nobody waits for it")
	expected := handovers.Expect(1)
	require.ErrorIs(t, handovers.Handle(1, func() error { return broken }), broken)
	_, err := expected.Await(t.Context())
	require.ErrorIs(t, err, broken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = handovers.Expect(2).Await(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
