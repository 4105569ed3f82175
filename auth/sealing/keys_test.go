package sealing

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func keyOf(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, KeyBytes))
}

func parse(t *testing.T, lines ...string) *Keys {
	t.Helper()
	keys, err := Parse(strings.Join(lines, "\n"))
	require.NoError(t, err)
	return keys
}

func TestSealedValuesOpenAtTheirPlaceAlone(t *testing.T) {
	t.Parallel()
	keys := parse(t, "# of spring", "", "a:"+keyOf(1))
	dataKey := keys.NewDataKey()
	require.Equal(t, "a", KeyIDOf(dataKey))
	sealed, err := keys.Seal(dataKey, "run/1", []byte("hunter2"))
	require.NoError(t, err)
	require.NotContains(t, sealed, base64.RawURLEncoding.EncodeToString([]byte("hunter2"))[:8])
	plain, err := keys.Open(dataKey, "run/1", sealed)
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(plain))

	again, err := keys.Seal(dataKey, "run/1", []byte("hunter2"))
	require.NoError(t, err)
	require.NotEqual(t, sealed, again, "equal values must not look equal")
	for name, c := range map[string]struct{ dataKey, place, sealed string }{
		"another place": {dataKey, "run/2", sealed}, "another data key": {keys.NewDataKey(), "run/1", sealed},
		"cut": {dataKey, "run/1", sealed[:len(sealed)-2]}, "empty": {dataKey, "run/1", ""}, "no base64": {dataKey, "run/1", "!"},
		"no data key": {"", "run/1", sealed}, "a data key that was changed": {dataKey[:len(dataKey)-4] + "AAAA", "run/1", sealed},
	} {
		_, err := keys.Open(c.dataKey, c.place, c.sealed)
		require.ErrorIs(t, err, ErrUnreadable, name)
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	old := parse(t, "old:"+keyOf(1))
	dataKey := old.NewDataKey()
	sealed, err := old.Seal(dataKey, "p", []byte("v"))
	require.NoError(t, err)
	digest, err := old.Digest(dataKey, []byte("v"))
	require.NoError(t, err)

	both := parse(t, "new:"+keyOf(2), "old:"+keyOf(1))
	require.Equal(t, "new", KeyIDOf(both.NewDataKey()))
	rewrapped, err := both.Rewrap(dataKey)
	require.NoError(t, err)
	require.Equal(t, "new", KeyIDOf(rewrapped))
	same, err := both.Rewrap(rewrapped)
	require.NoError(t, err)
	require.Equal(t, rewrapped, same)

	only := parse(t, "new:"+keyOf(2))
	plain, err := only.Open(rewrapped, "p", sealed)
	require.NoError(t, err)
	require.Equal(t, "v", string(plain))
	sameDigest, err := only.Digest(rewrapped, []byte("v"))
	require.NoError(t, err)
	require.Equal(t, digest, sameDigest)

	var unknown *UnknownKeyError
	_, err = only.Open(dataKey, "p", sealed)
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "old", unknown.KeyID)
	_, err = parse(t, "old:"+keyOf(3)).Open(dataKey, "p", sealed)
	require.ErrorIs(t, err, ErrUnreadable, "the id alone opens nothing")
}

func TestKeysAreRead(t *testing.T) {
	t.Parallel()
	raw := strings.TrimRight(keyOf(0xff), "=")
	for _, text := range []string{keyOf(1), "a:" + keyOf(1) + "\r\n", raw, strings.NewReplacer("+", "-", "/", "_").Replace(raw)} {
		_, err := Parse(text)
		require.NoError(t, err, text)
	}
	require.Equal(t, parse(t, keyOf(1)).First(), parse(t, keyOf(1)+"\n"+keyOf(2)).First())
	require.NotEqual(t, parse(t, keyOf(1)).First(), parse(t, keyOf(2)).First())
	require.NotEqual(t, parse(t, keyOf(1)).Fingerprint([]byte("v")), parse(t, keyOf(2)).Fingerprint([]byte("v")))
	for name, text := range map[string]string{
		"nothing": "", "comments": "# " + keyOf(1), "short": "a:" + base64.StdEncoding.EncodeToString(make([]byte, 16)),
		"twice": "a:" + keyOf(1) + "\na:" + keyOf(2), "an id": "a b:" + keyOf(1), "no id": ":" + keyOf(1), "no base64": "a:" + strings.Repeat("!", 44),
	} {
		_, err := Parse(text)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), keyOf(1)[:8], name)
		require.NotContains(t, err.Error(), "!!", name)
	}
}

// The cost of one sensitive value before the door, and again when it is handed over.
func BenchmarkSealAndOpen(b *testing.B) {
	keys, err := Parse(keyOf(1))
	require.NoError(b, err)
	dataKey, plain := keys.NewDataKey(), []byte("a password of thirty characters")
	for b.Loop() {
		sealed, err := keys.Seal(dataKey, "p", plain)
		require.NoError(b, err)
		_, err = keys.Open(dataKey, "p", sealed)
		require.NoError(b, err)
	}
}

func TestKeysAreReadAgain(t *testing.T) {
	t.Parallel()
	text, failure := "old:"+keyOf(1), error(nil)
	keys, err := Read(func() (string, error) { return text, failure })
	require.NoError(t, err)
	before := keys.NewDataKey()
	sealed, err := keys.Seal(before, "place", []byte("x"))
	require.NoError(t, err)

	other := parse(t, "new:"+keyOf(2), "old:"+keyOf(1))
	dataKey := other.NewDataKey()
	foreign, err := other.Seal(dataKey, "place", []byte("y"))
	require.NoError(t, err)
	require.False(t, keys.Opens(dataKey))
	var unknown *UnknownKeyError
	_, err = keys.Open(dataKey, "place", foreign)
	require.ErrorAs(t, err, &unknown)

	text = "new:" + keyOf(2)
	plain, err := keys.Open(dataKey, "place", foreign)
	require.NoError(t, err, "a key that is not known is looked for in the file")
	require.Equal(t, "y", string(plain))
	require.True(t, keys.Opens(dataKey))
	require.Equal(t, "new", keys.First())
	plain, err = keys.Open(before, "place", sealed)
	require.NoError(t, err, "a key goes on decrypting when its line is gone")
	require.Equal(t, "x", string(plain))

	for _, broken := range []string{"", "new:short"} {
		text = broken
		require.Error(t, keys.Reload())
		require.Equal(t, "new", keys.First())
	}
	failure = errors.New("no such file")
	require.ErrorIs(t, keys.Reload(), failure)
	require.NoError(t, parse(t, keyOf(3)).Reload())
}
