package refusal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// Names in a body may be as long as the body. Errors must not repeat them whole.
func TestARefusalIsSmall(t *testing.T) {
	t.Parallel()
	var faults Faults
	long := strings.Repeat("é", 100_000)
	for range 200 {
		faults.Add("/input/"+long+"/x", "must be text")
		faults.Add("/input", "%s is not known", long)
	}
	given := faults.List[0].Pointer
	refused := Invalid(faults.List...)
	size := len(refused.Detail)
	for _, fault := range refused.Faults {
		size += len(fault.Pointer) + len(fault.Detail)
		require.True(t, utf8.ValidString(fault.Pointer+fault.Detail))
	}
	require.Less(t, size, 64<<10)
	require.Equal(t, api.Fault{Pointer: "/input", Detail: "in a member whose name is too long to show: must be text"}, refused.Faults[0])
	require.Equal(t, given, faults.List[0].Pointer, "what was collected stays")
}
