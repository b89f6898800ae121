-- What the finals found of a trial beside the figure that they publish (trials.final_us): how it did
-- in a race with the other finalists, and its time with a cold second-level cache. Measured times
-- alone are raced. A run that goes on may race its finalists again; then a trial's newer row takes
-- the older one's place.
CREATE TABLE final_races (
  trial      INTEGER PRIMARY KEY REFERENCES trials,
  race       INTEGER NOT NULL CHECK (race >= 1),   -- of its run; equal for those that ran together
  place      INTEGER NOT NULL CHECK (place >= 1),  -- 1: published as the fastest
  tied_first INTEGER NOT NULL CHECK (tied_first IN (0, 1)),  -- not told apart from the fastest
  -- What it is ranked by: of those that tie first, the least time of any; of others their own.
  rank_us    REAL NOT NULL CHECK (rank_us > 0 AND rank_us < 9e999),
  blocks     INTEGER NOT NULL CHECK (blocks >= 0),  -- good ones it ran in
  -- Its time over that of the race's fastest, with an interval; NULL: not bounded.
  ratio      REAL NOT NULL CHECK (ratio > 0),
  ratio_low  REAL,
  ratio_high REAL CHECK (ratio_high < 9e999),
  detail     TEXT NOT NULL CHECK (json_valid(detail)),  -- how its samples were taken
  cold_us      REAL CHECK (cold_us > 0 AND cold_us < 9e999),
  cold_low_us  REAL CHECK (cold_low_us > 0),
  cold_high_us REAL CHECK (cold_high_us < 9e999),
  cold_samples TEXT CHECK (cold_samples IS NULL OR json_type(cold_samples) = 'array'),
  cold_detail  TEXT CHECK (cold_detail IS NULL OR json_valid(cold_detail)),
  CHECK (ratio_low <= ratio AND ratio <= ratio_high),
  CHECK ((cold_us IS NULL) = (cold_samples IS NULL)),
  CHECK (cold_low_us <= cold_high_us)
) STRICT;

CREATE TRIGGER final_races_stay BEFORE DELETE ON final_races
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;

-- As before; kernels that tie stand in the order that the finals gave them.
DROP VIEW best;
CREATE VIEW best AS
SELECT s.name AS space, r.shape, d.device, d.name AS device_name, r.arch, r.target,
       rank() OVER (PARTITION BY s.name, r.shape, d.device, d.name, r.arch, r.target, r.time_kind
                    ORDER BY t.final_us IS NULL, coalesce(f.rank_us, t.time_us),
                             coalesce(f.place, 0)) AS place,
       t.id AS trial,
       iif(r.time_kind = 'measured', t.time_us, NULL) AS measured_us,
       iif(r.time_kind = 'predicted', t.time_us, NULL) AS predicted_us,
       t.time_low_us AS low_us, t.time_high_us AS high_us, t.stage,
       t.config, t.registers, r.id AS run, t.number, t.source_hash, f.tied_first, f.cold_us
FROM trials t JOIN runs r ON r.id = t.run JOIN spaces s ON s.id = r.space
     JOIN devices d ON d.id = r.device
     LEFT JOIN final_races f ON f.trial = t.id AND t.final_us IS NOT NULL
WHERE t.outcome = 'right' AND t.time_us IS NOT NULL
ORDER BY s.name, r.shape, d.device, d.name, r.arch, r.target, r.time_kind, place, t.id;
