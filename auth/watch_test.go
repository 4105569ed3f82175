package auth_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
)

// fakeTokens answers reads of tokens. Every other call panics.
type fakeTokens struct {
	auth.Tokens
	byHash func(hash string) (*auth.Token, error)
	byID   func(tokenIDs []string) ([]auth.Token, error)
}

func (f *fakeTokens) TokenByHash(_ context.Context, hash string) (*auth.Token, error) {
	return f.byHash(hash)
}

func (f *fakeTokens) TokensByID(_ context.Context, tokenIDs []string) ([]auth.Token, error) {
	return f.byID(tokenIDs)
}

// A call whose token has no row any more ends. A read that fails ends none.
func TestCallsOfATokenThatIsGoneEnd(t *testing.T) {
	t.Parallel()
	var kept []auth.Token
	var failure error
	keyring := auth.NewKeyring(auth.Options{Mode: auth.Required, NowMs: func() int64 { return 1_750_000_000_000 }, Tokens: &fakeTokens{
		byHash: func(hash string) (*auth.Token, error) { return &auth.Token{TokenID: hash, SecretHash: hash}, nil },
		byID:   func([]string) ([]auth.Token, error) { return kept, failure },
	}})
	enter := func(secret string) context.Context {
		_, during, leave, err := keyring.Enter(t.Context(), secret)
		require.NoError(t, err)
		t.Cleanup(leave)
		return during
	}
	there := auth.NewSecret()
	gone, stays := enter(auth.NewSecret()), enter(there)
	failure = errors.New("the database is away")
	keyring.Look(t.Context())
	require.Equal(t, 2, keyring.Calls())
	kept, failure = []auth.Token{{TokenID: auth.HashOf(there), SecretHash: auth.HashOf(there)}}, nil
	keyring.Look(t.Context())
	require.Equal(t, 1, keyring.Calls())
	<-gone.Done()
	require.ErrorIs(t, context.Cause(gone), auth.ErrRevoked)
	require.NoError(t, stays.Err())
}

// signalling is a context that reports when its end is first waited for.
type signalling struct {
	context.Context
	waited chan struct{}
	once   atomic.Bool
}

func (s *signalling) Done() <-chan struct{} {
	if !s.once.Swap(true) {
		close(s.waited)
	}
	return s.Context.Done()
}

// A token is trusted for half a second from when its read began, even if a caller joined the read later.
func TestAJoinedReadIsAsOldAsItsBeginning(t *testing.T) {
	t.Parallel()
	var nowMs, reads atomic.Int64
	nowMs.Store(1_750_000_000_000)
	began, answer := make(chan struct{}), make(chan struct{})
	keyring := auth.NewKeyring(auth.Options{Mode: auth.Required, NowMs: nowMs.Load, Tokens: &fakeTokens{
		byHash: func(hash string) (*auth.Token, error) {
			if reads.Add(1) > 1 {
				return nil, nil // it has been rotated
			}
			close(began)
			<-answer
			return &auth.Token{TokenID: "t", SecretHash: hash}, nil
		},
	}})
	secret, done := auth.NewSecret(), make(chan error, 2)
	for range cap(done) {
		caller := &signalling{Context: t.Context(), waited: make(chan struct{})}
		go func() {
			_, err := keyring.Authenticate(caller, secret)
			done <- err
		}()
		<-began
		<-caller.waited
		nowMs.Add(250)
	}
	close(answer)
	for range cap(done) {
		require.NoError(t, <-done)
	}
	require.EqualValues(t, 1, reads.Load())
	_, err := keyring.Authenticate(t.Context(), secret)
	require.ErrorIs(t, err, auth.Invalid())
}
