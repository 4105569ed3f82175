package auth

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// Run ends the calls of tokens that were revoked, rotated or have expired, and those without one once the
// first token was created, at any replica, and stores when tokens were last used, until the context ends. It returns nil.
func (k *Keyring) Run(ctx context.Context) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			k.writeUses(context.WithoutCancel(ctx))
			return nil
		case <-ticker.C:
			k.Look(ctx)
			k.writeUses(ctx)
		}
	}
}

// Look re-reads the tokens of open calls once, and whether calls still need none.
func (k *Keyring) Look(ctx context.Context) {
	nowMs := k.nowMs()
	byID, signedIn := map[string][]*remembered{}, map[string]*remembered{}
	k.mu.Lock()
	for hash, known := range k.remembered {
		switch {
		case known.calls > 0 && known.token.signIn != nil:
			signedIn[known.token.signIn.CookieHash] = known
		case known.calls > 0:
			byID[known.tokenID] = append(byID[known.tokenID], known)
		case nowMs > known.readAtMs+minuteMs && known.usedAtMs == known.writtenAtMs:
			known.end()
			delete(k.remembered, hash)
		}
	}
	k.mu.Unlock()
	k.lookWhileOpen(ctx)
	k.lookAtSignIns(ctx, signedIn, nowMs)
	if len(byID) == 0 {
		return
	}
	tokens, err := k.tokens.TokensByID(ctx, slices.Sorted(maps.Keys(byID)))
	if err != nil {
		k.unread(ctx, err)
		return
	}
	for i := range tokens {
		for _, known := range byID[tokens[i].TokenID] {
			token := tokens[i]
			token.asserted = known.asserted
			if !token.AcceptsAt(known.hash, nowMs) {
				k.forgetThis(known)
			}
		}
		delete(byID, tokens[i].TokenID)
	}
	// The rest have no row, as after a restore of an older database.
	for _, gone := range byID {
		for _, known := range gone {
			k.forgetThis(known)
		}
	}
}

// lookAtSignIns is Look for sign-ins, by the hash of their cookie.
func (k *Keyring) lookAtSignIns(ctx context.Context, signedIn map[string]*remembered, nowMs int64) {
	if len(signedIn) == 0 {
		return
	}
	found, err := k.tokens.SignInsByHash(ctx, slices.Sorted(maps.Keys(signedIn)))
	if err != nil {
		k.unread(ctx, err)
		return
	}
	work := map[string]bool{}
	for i := range found {
		work[found[i].CookieHash] = found[i].credential().AcceptsAt(signInKey+found[i].CookieHash, nowMs)
	}
	for hash, known := range signedIn {
		if !work[hash] {
			k.forgetThis(known)
		}
	}
}

func (k *Keyring) unread(ctx context.Context, err error) {
	if ctx.Err() == nil {
		k.logger.LogAttrs(ctx, slog.LevelWarn, "the credentials of open calls could not be read", slog.String("error", err.Error()))
	}
}

// forgetThis ends the calls of a cached credential, even if the entry was replaced.
func (k *Keyring) forgetThis(known *remembered) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known.end()
	if k.remembered[known.hash] == known {
		delete(k.remembered, known.hash)
	}
}

// forgetToken ends the calls of a token's secrets that no longer work.
func (k *Keyring) forgetToken(tokenID string, works func(hash string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for hash, known := range k.remembered {
		if known.tokenID == tokenID && !works(hash) {
			known.end()
			delete(k.remembered, hash)
		}
	}
}

// writeUses stores the last uses that are not stored yet. After an error they are retried a minute
// later.
func (k *Keyring) writeUses(ctx context.Context) {
	used := map[string]int64{}
	k.mu.Lock()
	for _, known := range k.remembered {
		if known.usedAtMs > known.writtenAtMs {
			used[known.tokenID] = max(used[known.tokenID], known.usedAtMs)
			known.writtenAtMs = known.usedAtMs
		}
	}
	k.mu.Unlock()
	for tokenID, usedAtMs := range used {
		if err := k.tokens.TouchToken(ctx, tokenID, usedAtMs); err != nil {
			if ctx.Err() == nil {
				k.logger.LogAttrs(ctx, slog.LevelWarn, "the last use of a token could not be written",
					slog.String("token_id", tokenID), slog.String("error", err.Error()))
			}
			return
		}
	}
}

// addUses sets the last uses that are not stored yet.
func (k *Keyring) addUses(tokens []Token) {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := map[string]int64{}
	for _, known := range k.remembered {
		if known.usedAtMs > known.writtenAtMs {
			used[known.tokenID] = max(used[known.tokenID], known.usedAtMs)
		}
	}
	for i := range tokens {
		tokens[i].LastUsedAtMs = max(tokens[i].LastUsedAtMs, used[tokens[i].TokenID])
	}
}

// Remembered returns the number of cached secrets and cookies.
func (k *Keyring) Remembered() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.remembered)
}

// Calls returns the number of open calls that end when their credential does, or with the first token.
func (k *Keyring) Calls() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	calls := int(k.openCalls.Load())
	for _, known := range k.remembered {
		calls += known.calls
	}
	return calls
}
