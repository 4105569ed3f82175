package auth

import (
	"context"
)

// EnterOpen is Enter for a call that needs no credential because [Keyring.Open] says so: the returned
// context ends, with cause [ErrRevoked], soon after the first token has been created.
func (k *Keyring) EnterOpen(ctx context.Context) (during context.Context, leave func()) {
	if k.mode != Auto {
		return ctx, func() {}
	}
	k.openCalls.Add(1)
	during, end := endingWith(ctx, k.whileOpen)
	return during, func() {
		end()
		k.openCalls.Add(-1)
	}
}

// shut notes that a token exists. In mode Auto it ends the calls without a credential.
func (k *Keyring) shut() {
	k.closed.Store(true)
	k.endOpen()
}

// lookWhileOpen is Look for calls without a credential. It trusts no earlier read.
func (k *Keyring) lookWhileOpen(ctx context.Context) {
	if k.openCalls.Load() == 0 || k.closed.Load() {
		return
	}
	anyToken, err := k.tokens.AnyToken(ctx)
	switch {
	case err != nil:
		k.unread(ctx, err)
	case anyToken:
		k.shut()
	}
}

// endingWith returns a context that also ends, with cause [ErrRevoked], when valid does. Call end when the
// call is over.
func endingWith(ctx, valid context.Context) (during context.Context, end func()) {
	during, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(valid, func() { cancel(ErrRevoked) })
	return during, func() {
		stop()
		cancel(nil)
	}
}
