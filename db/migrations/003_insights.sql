-- What a run taught (fa-tune insights), written when it ends. All of it follows from the rows of
-- trials, so these are the only rows that may be replaced.
CREATE TABLE insights (
  run     INTEGER NOT NULL REFERENCES runs,
  kind    TEXT NOT NULL CHECK (kind IN ('effect', 'interaction', 'failure', 'operator')),
  place   INTEGER NOT NULL CHECK (place >= 1),  -- within the kind, the most useful first
  seen    INTEGER NOT NULL CHECK (seen IN (0, 1)),  -- 0: may be chance
  text    TEXT NOT NULL CHECK (text <> ''),         -- in words, with figures
  insight TEXT NOT NULL CHECK (json_valid(insight)),  -- as `fa-tune insights --format json` has it
  PRIMARY KEY (run, kind, place)
) STRICT, WITHOUT ROWID;
