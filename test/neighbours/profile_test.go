//go:build unix && faults

package neighbours

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// profilesVariable names a directory for profiles of the service next to each attacker: the
// processor's, and a trace of a second.
const profilesVariable = "HOLDPOINT_NEIGHBOURS_PROFILES"

// profiled returns the address of the service's profiles and the arguments that have them served, both
// empty unless profiles are wanted.
func profiled(t *testing.T) (address string, args []string) {
	t.Helper()
	if os.Getenv(profilesVariable) == "" {
		return "", nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String(), []string{"--admin-addr", listener.Addr().String()}
}

// saveProfile saves profiles of the next seconds. The caller calls saved when they are over.
func saveProfile(t *testing.T, address, name string, long time.Duration) (saved func()) {
	t.Helper()
	if address == "" {
		return func() {}
	}
	var files sync.WaitGroup
	for kind, seconds := range map[string]int{"profile": int(long.Seconds()), "trace": min(1, int(long.Seconds()))} {
		files.Go(func() {
			reply, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", address, kind, seconds))
			if err != nil {
				t.Error(err)
				return
			}
			defer reply.Body.Close()
			file, err := os.Create(filepath.Join(os.Getenv(profilesVariable), strings.ReplaceAll(t.Name(), "/", "-")+"."+kind))
			if err == nil {
				_, err = io.Copy(file, reply.Body)
				err = errors.Join(err, file.Close())
			}
			if err != nil {
				t.Error(name, err)
			}
		})
	}
	return files.Wait
}
