//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/bench/load"
	"github.com/holdpoint/holdpoint/client"
)

// measurement is one subject's result in one round.
type measurement struct {
	Subject string `json:"subject"`
	Clients int    `json:"clients"`
	Round   int    `json:"round"`
	load.Result
	CPU *cpu `json:"cpu,omitempty"`
	// LoadAverage is the machine's load average at the start.
	LoadAverage string `json:"load_average,omitempty"`
}

// cpu is the cost of one wait, in milliseconds of one core.
type cpu struct {
	Service  float64 `json:"service_ms_per_wait"`
	Postgres float64 `json:"postgres_ms_per_wait"`
	Load     float64 `json:"load_ms_per_wait"`
	// Others is the number of cores that the rest of the machine used meanwhile.
	Others float64 `json:"others_cores"`
}

// report has all results and their conditions.
type report struct {
	Conditions   conditions    `json:"conditions"`
	Measurements []measurement `json:"measurements"`
}

type conditions struct {
	Database    string            `json:"database"`
	Postgres    map[string]string `json:"postgres,omitempty"`
	Subjects    []string          `json:"subjects"`
	Rounds      int               `json:"rounds"`
	Warmup      string            `json:"warmup"`
	Duration    string            `json:"duration"`
	MaxWaits    int               `json:"max_waits,omitempty"`
	CPUs        int               `json:"cpus"`
	CPUModel    string            `json:"cpu_model,omitempty"`
	OS          string            `json:"os"`
	Go          string            `json:"go"`
	LoadAverage string            `json:"load_average_before,omitempty"`
}

// measure measures every subject in every round and prints the tables.
func (s *settings) measure(ctx context.Context, out, progress io.Writer) (err error) {
	if s.directory, err = os.MkdirTemp("", "holdpoint-waits-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.directory)) }()
	if s.loadProgram == "" {
		if s.loadProgram, err = os.Executable(); err != nil {
			return err
		}
	}
	all, err := s.subjects(ctx, progress)
	if err != nil {
		return err
	}
	r := &report{Conditions: conditions{
		Database: s.database, Rounds: s.rounds, Warmup: s.options.Warmup.String(), Duration: s.options.Duration.String(), MaxWaits: s.options.Waits,
		CPUs: runtime.NumCPU(), CPUModel: cpuModel(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), LoadAverage: loadAverage(),
	}}
	if len(all) == 0 {
		return errors.New("there is nothing to measure")
	}
	for _, subject := range all {
		r.Conditions.Subjects = append(r.Conditions.Subjects, subject.name)
	}
	var server *postgresServer
	if s.database == "postgres" {
		if server, err = startPostgres(ctx, s.postgres); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		if r.Conditions.Postgres, err = server.shown(ctx); err != nil {
			return err
		}
	}
	if err := r.printConditions(out); err != nil {
		return err
	}
	for _, clients := range s.clients {
		for round := range s.rounds {
			for turn := range all {
				// Each round starts with another subject, so that none always follows the
				// same one.
				m, err := s.turn(ctx, server, all[(turn+round)%len(all)], clients, round+1)
				if err != nil {
					return fmt.Errorf("%s, %d clients: %w", all[(turn+round)%len(all)].name, clients, err)
				}
				fmt.Fprintln(progress, m)
				r.Measurements = append(r.Measurements, *m)
			}
		}
		if err := r.printTable(out, clients); err != nil {
			return err
		}
	}
	if s.jsonPath != "" {
		if err := r.write(s.jsonPath); err != nil {
			return err
		}
	}
	for _, f := range s.floors {
		for _, clients := range s.clients {
			err = errors.Join(err, f.check(r, clients))
		}
	}
	return err
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// turn measures a subject once, on a fresh database.
func (s *settings) turn(ctx context.Context, server *postgresServer, subject subject, clients, round int) (_ *measurement, err error) {
	directory, err := os.MkdirTemp(s.directory, "turn-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	m := &measurement{Subject: subject.name, Clients: clients, Round: round, LoadAverage: loadAverage()}
	options := s.options
	options.Clients = clients
	options.Target = "sqlite:" + filepath.Join(directory, "waits.db")
	if server != nil {
		name := "holdpoint_waits"
		if subject.otherRows {
			name = rowsDatabase
		} else {
			defer func() { err = errors.Join(err, server.drop(context.WithoutCancel(ctx), name)) }()
		}
		if options.Target, err = s.databaseFor(ctx, server, subject, name, directory); err != nil {
			return nil, err
		}
	}
	var services []int
	if subject.service != "" {
		var urls []string
		for replica := range subject.replicas {
			service, url, err := startService(ctx, subject.service, options.Target, filepath.Join(directory, strconv.Itoa(replica)))
			if err != nil {
				return nil, err
			}
			urls, services = append(urls, url), append(services, service.command.Process.Pid)
			defer func() { err = errors.Join(err, service.stop(syscall.SIGTERM)) }()
		}
		options.Target = strings.Join(urls, ",")
		if subject.asks {
			if subject.load, err = withToken(ctx, urls[0], subject.load); err != nil {
				return nil, err
			}
		}
	}
	var samples []sample
	result, err := runLoad(ctx, subject.load, options, func(pid int) {
		samples = append(samples, sample{
			service: cpuOf(services...), postgres: cpuOf(server.pid()), load: cpuOf(pid), machine: machineCPU(),
		})
	})
	if err != nil {
		return nil, err
	}
	m.Result = *result
	if len(samples) == 2 && samples[1].load > 0 {
		if c := used(samples[0], samples[1], result); !math.IsNaN(c.Others) {
			m.CPU = c
		}
	}
	return m, nil
}

// databaseFor returns the URL of a subject's database. The one with other runs is created
// once, and on a server named by --postgres it is kept for later.
func (s *settings) databaseFor(ctx context.Context, server *postgresServer, subject subject, name, directory string) (string, error) {
	at := *server.admin
	at.Path = "/" + name
	if subject.otherRows && server.process == nil {
		s.madeRows = s.madeRows || server.exec(ctx, "ALTER DATABASE "+quote(name)+" CONNECTION LIMIT -1") == nil // it exists
	}
	if subject.otherRows && s.madeRows {
		return at.String(), server.exec(ctx, "CHECKPOINT")
	}
	url, err := server.fresh(ctx, name)
	if err != nil || !subject.otherRows {
		return url, err
	}
	// The service creates the schema.
	service, _, err := startService(ctx, subject.service, url, filepath.Join(directory, "schema"))
	if err == nil {
		err = service.stop(syscall.SIGTERM)
	}
	if err == nil {
		err = server.makeRows(ctx, s.rows)
	}
	if err != nil {
		return "", errors.Join(err, server.drop(context.WithoutCancel(ctx), name))
	}
	s.madeRows = true
	return url, nil
}

// withToken makes the service require tokens, and returns the command of a load that has
// one.
func withToken(ctx context.Context, url string, command []string) ([]string, error) {
	service, err := client.New(url)
	if err != nil {
		return nil, err
	}
	defer service.Close()
	made, err := service.CreateToken(ctx, api.CreateTokenBody{Name: "bench", Role: api.RoleAdmin})
	if err != nil {
		return nil, err
	}
	return append([]string{"env", tokenVariable + "=" + made.Secret}, command...), nil
}

func used(before, after sample, result *load.Result) *cpu {
	service, postgres, load := after.service-before.service, after.postgres-before.postgres, after.load-before.load
	perWait := 1000 / float64(result.Waits)
	return &cpu{
		Service: service * perWait, Postgres: postgres * perWait, Load: load * perWait,
		Others: max(after.machine-before.machine-service-postgres-load, 0) / result.Seconds,
	}
}
