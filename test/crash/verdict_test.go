//go:build faults

package crash

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// observation is the result of one kill.
type observation struct {
	// killed: the process died at the point, and not because the test ended it.
	killed bool
	// acknowledged: the call had its reply before the process died.
	acknowledged bool
	// before and after are how often the call's effect was in force after the
	// restart, and after the call had been repeated.
	before, after int
}

// Results that must never happen.
var (
	errLost   = errors.New("acknowledged, and not in force after the restart")
	errTwice  = errors.New("in force more than once")
	errDenied = errors.New("not in force although the call was repeated")
)

// verdict holds an observation to the three rules.
func (o observation) verdict() error {
	switch {
	case o.before > 1 || o.after > 1:
		return fmt.Errorf("%w: %d times, then %d times", errTwice, o.before, o.after)
	case o.acknowledged && o.before == 0:
		return errLost
	case o.after == 0:
		return errDenied
	case o.after < o.before:
		return errLost
	}
	return nil
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		seen observation
		want error
	}{
		{"acknowledged and kept", observation{acknowledged: true, before: 1, after: 1}, nil},
		{"not acknowledged, in force", observation{before: 1, after: 1}, nil},
		{"not acknowledged, not in force", observation{before: 0, after: 1}, nil},
		{"acknowledged and lost", observation{acknowledged: true, before: 0, after: 1}, errLost},
		{"acknowledged and lost for good", observation{acknowledged: true}, errLost},
		{"the repeated call has no effect", observation{before: 0, after: 0}, errDenied},
		{"the repeated call undoes it", observation{before: 1, after: 0}, errDenied},
		{"the repeated call did it again", observation{before: 1, after: 2}, errTwice},
		{"one call did it twice", observation{before: 2, after: 2}, errTwice},
		{"twice, and once of it lost", observation{acknowledged: true, before: 2, after: 1}, errTwice},
	} {
		require.ErrorIs(t, test.seen.verdict(), test.want, test.name)
		if test.want == nil {
			require.NoError(t, test.seen.verdict(), test.name)
		}
	}
}
