// Package holdpoint runs holdpoint inside a Go program. Runs of agents wait for people, the
// wait is stored in SQLite or Postgres, and each decision reaches the worker that continues
// the run.
//
//	service, err := holdpoint.Open(ctx, "sqlite:holdpoint.db", holdpoint.Options{})
//	if err != nil {
//		return err
//	}
//	defer service.Close()
//	go service.Run(ctx)
//	go http.ListenAndServe("127.0.0.1:4000", service.Handler())
//	worker, err := service.Worker(client.WorkerOptions{AgentIDs: []string{"deployer"}})
//	if err != nil {
//		return err
//	}
//	return worker.Run(ctx, handle)
//
// [Service.Client] and [Service.Worker] call the service without a socket and without a
// token. [Service.Handler] serves people and other programs: the inbox, the API and MCP.
// On Postgres, [Service.CreateRunTx] creates a run in a transaction of the program.
// The command "holdpoint serve" uses the same parts, and adds dialects, single sign-on,
// metrics and traces.
//
// The package also contains the documents and the OpenAPI description of the API. Tests
// check servers and clients against it.
package holdpoint
