CREATE TABLE runs (
	id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	status      text NOT NULL,
	fence       bigint NOT NULL DEFAULT 0,
	worker      text,
	lease_until timestamptz,
	input       jsonb NOT NULL,
	checkpoint  jsonb,
	request     jsonb,
	outcome     jsonb,
	output      jsonb,
	created_at  timestamptz NOT NULL DEFAULT now(),
	updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX runs_waiting ON runs (created_at) WHERE status = 'waiting';
CREATE INDEX runs_claimable ON runs (updated_at) WHERE status = 'queued';

CREATE FUNCTION suspend(input jsonb, checkpoint jsonb, request jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE made bigint;
BEGIN
	INSERT INTO runs (status, input, checkpoint, request) VALUES ('waiting', input, checkpoint, request) RETURNING id INTO made;
	RETURN made;
END $$;

CREATE FUNCTION decide(run bigint, behavior text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE runs SET status = 'queued', outcome = jsonb_build_object('behavior', behavior), updated_at = now()
	WHERE id = run AND status = 'waiting';
	IF NOT FOUND THEN RAISE EXCEPTION 'run % does not wait', run; END IF;
END $$;

CREATE FUNCTION claim(run bigint, by_worker text, lease_ms int)
RETURNS TABLE (fence bigint, input jsonb, checkpoint jsonb, request jsonb, outcome jsonb) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY UPDATE runs r SET status = 'running', fence = r.fence + 1, worker = by_worker,
		lease_until = now() + lease_ms * interval '1 ms', updated_at = now()
	WHERE r.id = run AND r.status = 'queued'
	RETURNING r.fence, r.input, r.checkpoint, r.request, r.outcome;
	IF NOT FOUND THEN RAISE EXCEPTION 'run % is not claimable', run; END IF;
END $$;

CREATE FUNCTION complete(run bigint, held bigint, result jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE runs SET status = 'completed', output = result, lease_until = NULL, updated_at = now()
	WHERE id = run AND status = 'running' AND fence = held;
	IF NOT FOUND THEN RAISE EXCEPTION 'the lease of run % is lost', run; END IF;
END $$;
