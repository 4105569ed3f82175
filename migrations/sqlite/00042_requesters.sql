-- +goose Up

-- Whoever made a run of a session or claimed one, one principal a line; and whose credential a rule
-- was written with, when that acted for somebody.
ALTER TABLE sessions ADD COLUMN requesters TEXT;
ALTER TABLE rules ADD COLUMN via_principal TEXT;

-- +goose Down

-- Approvals that exclude their requester are then allowed by anybody.
ALTER TABLE rules DROP COLUMN via_principal;
ALTER TABLE sessions DROP COLUMN requesters;
