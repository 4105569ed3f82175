# What a developer types. "make help" lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PACKAGES ?= ./...
FUZZ_TIME ?= 10s
BENCH_TIME ?= 1s

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
test: ## Run all tests (PACKAGES=./runs/... for some)
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

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZ_TIME
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed 's/:func / /' | sort -u | \
	while read -r file target; do \
		echo "$$target in $$(dirname $$file)"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) "$$(dirname $$file)" || exit 1; \
	done

.PHONY: smoke
smoke: ## Run README's quick start against a fresh clone and the built program
	bash .ci/smoke

.PHONY: ci
ci: ## Run all that a change must pass
	bash .ci/run
