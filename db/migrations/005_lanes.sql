-- A run may search on several devices of one kind at once.
ALTER TABLE trials ADD COLUMN lane TEXT;  -- the device that ran the kernel: 'cuda:1'; NULL: none did
-- Of the run's search, the sessions before this one included, when the trial was written; NULL: not
-- noted yet at that time.
ALTER TABLE trials ADD COLUMN at_ms REAL CHECK (at_ms >= 0);

-- The search of one call of evolve, written when it ends. One that was killed has no row.
CREATE TABLE sessions (
  id        INTEGER PRIMARY KEY,
  run       INTEGER NOT NULL REFERENCES runs,
  devices   TEXT NOT NULL CHECK (json_valid(devices)),    -- ["cuda:0","cuda:1"]
  breakdown TEXT NOT NULL CHECK (json_valid(breakdown)),  -- where its time went, in seconds
  ended_at  TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_run ON sessions (run);
