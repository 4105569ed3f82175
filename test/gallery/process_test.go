package gallery

import (
	"testing"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// process is a running "holdpoint serve".
type process struct {
	*rig.Process
	// client gives up when the service was killed, instead of repeating a call.
	client *client.Client
}

// serve starts the program on a database and waits until it takes calls.
func serve(t *testing.T, database string) *process {
	t.Helper()
	started := rig.Start(t, rig.Options{Database: database})
	return &process{Process: started, client: started.Connect()}
}

// kill ends the process at once, as kill -9 does, and waits until it is gone.
func (p *process) kill() { p.Kill() }

// run runs another command of the program and returns its exit code and output.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return rig.Run(t, args...)
}

// requireDoctorContent lets the doctor command walk all rows of a database.
func requireDoctorContent(t *testing.T, database string) {
	t.Helper()
	rig.RequireHealthy(t, database)
}
