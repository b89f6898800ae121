-- What the plain kernel of a run's problem takes (`reference` in a space): at the timed shape, by a
-- screen as those of trials, of the run's kind of time. No row: the problem has none, or the run is
-- older than this table.
CREATE TABLE plain_kernels (
  run      INTEGER PRIMARY KEY REFERENCES runs,
  us       REAL CHECK (us > 0 AND us < 9e999),
  low_us   REAL CHECK (low_us > 0),
  high_us  REAL CHECK (high_us < 9e999),
  detail   TEXT CHECK (detail IS NULL OR json_valid(detail)),  -- as a trial's
  message  TEXT NOT NULL,                    -- why it could not be timed; else empty
  CHECK ((us IS NULL) = (message <> '')),
  CHECK ((us IS NULL) = (detail IS NULL)),
  CHECK (us IS NOT NULL OR (low_us IS NULL AND high_us IS NULL)),
  CHECK (low_us <= high_us)
) STRICT;

CREATE TRIGGER plain_kernels_stay BEFORE DELETE ON plain_kernels
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
