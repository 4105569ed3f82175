# What a developer types. "make help" lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PACKAGES ?= ./...
FUZZ_TIME ?= 10s
BENCH_TIME ?= 1s
SOAK ?= 10m
DATABASE ?= sqlite:churn.db
CHURN_RUNS ?= 200000
ROLE_CALLS ?= 1000000

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the static binary ./holdpoint
	CGO_ENABLED=0 go build -trimpath -o holdpoint ./cmd/holdpoint

.PHONY: serve
serve: ## Run the service on 127.0.0.1:4000 with holdpoint.db in this directory
	go run ./cmd/holdpoint serve

.PHONY: test
test: ## Run the tests of every change (PACKAGES=./runs/... for some)
	go test $(PACKAGES)

.PHONY: race
race: ## Run all tests with the race detector
	go test -race $(PACKAGES)

.PHONY: lint
lint: ## Check format and lint (golangci-lint 2.15.0)
	golangci-lint fmt --diff
	golangci-lint run

.PHONY: fmt
fmt: ## Format all Go files
	golangci-lint fmt

.PHONY: bench
bench: ## Run all benchmarks (BENCH_TIME=1x to see that they run)
	go test -run '^$$' -bench . -benchtime $(BENCH_TIME) $(PACKAGES)

.PHONY: floor
floor: ## Fail when the engine falls far behind plain SQL, in turns with it
	go run ./bench/waits --no-service --engine --peer plsql --clients 64 --rounds 3 --for 2s --warmup 1s --floor engine/plsql=0.2

.PHONY: waits
waits: ## Measure whole waits over HTTP beside the peers of bench/peers, in turns
	go run ./bench/waits --engine --peer plsql --peer river --peer dbos

.PHONY: churn
churn: ## Make, carry and delete CHURN_RUNS runs in an empty DATABASE and print how large it is meanwhile
	go run ./bench/churn --database $(DATABASE) --runs $(CHURN_RUNS)

.PHONY: partitions
partitions: ## Run the contract of the engines on hash-partitioned tables (docs/scaling.md)
	go test -count 1 -timeout 4h -tags partitions -run TestPartitionedPostgres ./store/storetest

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZ_TIME
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed 's/:func / /' | sort -u | \
	while read -r file target; do \
		echo "$$target in $$(dirname $$file)"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) "$$(dirname $$file)" || exit 1; \
	done

.PHONY: faults
faults: ## Kill, freeze and cut what the service runs on, in a bounded form
	go test -tags faults ./test/... ./store/... ./cli/serve

.PHONY: pages
pages: ## Drive the pages in a headless browser, as people do (Chromium, npm)
	go test -count 1 -tags browser -timeout 40m ./test/inbox

.PHONY: agents
agents: ## Drive coding agents from npm with a stub of their model, and MCP's conformance suite
	go test -count 1 -tags agents ./test/agents ./test/mcpsuite

.PHONY: sdk
sdk: ## Pack, install and drive the libraries of other languages (npm, python3)
	go test -count 1 -tags agents ./test/sdk

.PHONY: sdk-types
sdk-types: ## Write the types and the plain calls of the libraries from openapi.json
	cd sdk/typescript && npm ci --no-audit --no-fund --silent && npm run --silent types
	python3 sdk/tools/make_calls.py && python3 sdk/python/tools/make_types.py && python3 sdk/python/tools/make_sync.py

.PHONY: crash
crash: ## Kill the service at every point of every call; writes the table of docs/reliability.md
	go test -count 1 -tags failpoints ./internal/failpoint
	HOLDPOINT_CRASH=all HOLDPOINT_CRASH_TABLE=$(CURDIR)/docs/reliability.md \
		go test -count 1 -tags faults -run 'TestMatrix$$' -parallel 4 -timeout 4h -v ./test/crash

.PHONY: soak
soak: ## Check histories under faults for SOAK (10m)
	HOLDPOINT_SOAK=$(SOAK) HOLDPOINT_WRONG_CLOCKS=1 go test -count 1 -tags faults -timeout 0 -v -run TestReplicasAreOneService ./test/linearizability

.PHONY: powercut
powercut: ## Kill the service on a SQLite file, and cut its power, 200 times each
	HOLDPOINT_POWERCUT_ROUNDS=200 go test -count 1 -tags faults -timeout 4h -v ./test/powercut

.PHONY: expiry
expiry: ## Let 10,000 requests fall due at once on two replicas
	HOLDPOINT_EXPIRY_DUE=10000 go test -count 1 -tags faults -v -run VeryMany ./test/expiry

.PHONY: roles
roles: ## Make ROLE_CALLS calls (a million) with credentials of every role and hold them against a second table; ROLE_LIMITS=default: with the default limits
	HOLDPOINT_ROLE_CALLS=$(ROLE_CALLS) HOLDPOINT_ROLE_LIMITS=$(ROLE_LIMITS) go test -count 1 -tags faults -timeout 4h -v ./test/roles

.PHONY: neighbours
neighbours: ## Measure what one caller's most expensive calls cost another, and fail above bounds
	HOLDPOINT_NEIGHBOURS_FOR=20s HOLDPOINT_NEIGHBOURS_RATIO=3 HOLDPOINT_NEIGHBOURS_MEMORY=512 \
		go test -count 1 -tags faults -timeout 4h -v ./test/neighbours

.PHONY: restart
restart: ## Restart the service with 100,000 runs suspended and debts to pay
	HOLDPOINT_SUSPENDED=100000 go test -count 1 -tags faults -timeout 4h -v -run Restart ./test/handover

.PHONY: smoke
smoke: ## Run README's quick start against a fresh clone and the built program
	bash .ci/smoke

.PHONY: release
release: ## Make a release in dist/: programs, npm package, wheel, bills of materials, licences, checksums, image
	bash .ci/release/make

.PHONY: release-check
release-check: ## Check a release, and that two clones make the same bytes (minutes: nothing is cached)
	bash .ci/release/check twice

.PHONY: manifests
manifests: ## Check deploy/kubernetes against the schemas of Kubernetes
	bash .ci/kubernetes/check

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in what is called (needs https://vuln.go.dev)
	go run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

.PHONY: testcontainers
testcontainers: ## Run the Postgres engine's tests as on a machine with Docker and no Postgres (as root)
	bash .ci/testcontainers

.PHONY: image
image: ## Build the last stage of the Dockerfile and run it as it is deployed
	bash .ci/image

.PHONY: compose
compose: ## Run README's two replicas by docker-compose.yml, without a registry
	bash .ci/compose/run

.PHONY: ci
ci: ## Run all that a change must pass
	bash .ci/run

.PHONY: nightly
nightly: ## Run everything: what CI may skip, fuzzing, benchmarks, soak, whole fault matrices; writes .ci/verified
	bash .ci/nightly
