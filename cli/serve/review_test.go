package serve

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsOfTheHookHideItsSecrets(t *testing.T) {
	t.Parallel()
	post, err := reviewHook("http://user:secret1@127.0.0.1:1/secret2?token=secret3")
	require.NoError(t, err)
	err = post(t.Context(), nil)
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.NotContains(t, err.Error(), "secret")
}
