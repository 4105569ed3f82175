package gallery

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withProgram{postgrestest.Wrap(m)}) }

// withProgram removes the program after the tests.
type withProgram struct{ *postgrestest.Main }

func (m withProgram) Run() int {
	code := m.Main.Run()
	if err := os.RemoveAll(programDirectory()); err != nil {
		fmt.Fprintf(os.Stderr, "remove the program: %v\n", err)
		code = max(code, 1)
	}
	return code
}

var programDirectory = sync.OnceValue(func() string {
	directory, err := os.MkdirTemp("", "holdpoint-gallery-")
	if err != nil {
		panic(err)
	}
	return directory
})

// build builds the program, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDirectory(), "holdpoint")
	output, err := exec.Command("go", "build", "-o", path, "github.com/holdpoint/holdpoint/cmd/holdpoint").CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(output)))
	}
	return path, nil
})

// program returns the path of the program that users run.
func program(t *testing.T) string {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	return path
}
