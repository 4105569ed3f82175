//go:build unix

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/bench/load"
)

func TestAFloorIsOneOfRatios(t *testing.T) {
	t.Parallel()
	r := &report{}
	for round, perSecond := range []int{60, 20, 50} {
		for subject, waits := range map[string]int{"engine": perSecond, "plain": 100} {
			r.Measurements = append(r.Measurements, measurement{
				Subject: subject, Clients: 8, Round: round, Result: load.Result{Waits: waits, Seconds: 1},
			})
		}
	}
	for text, holds := range map[string]bool{
		"engine/plain=0.5": true, "engine/plain=0.51": false, "plain/engine=2": true, "engine/absent=0.1": false,
	} {
		f, err := parseFloor(text)
		require.NoError(t, err)
		require.Equal(t, holds, f.check(r, 8) == nil, text)
	}
	for _, text := range []string{"", "a=1", "a/b", "a/b=x", "a/b=0", "/b=1", "a/=1"} {
		_, err := parseFloor(text)
		require.Error(t, err, text)
	}
}
