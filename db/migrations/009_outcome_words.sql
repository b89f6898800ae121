-- A trial passed or failed; up to here the words were 'right' and 'refused'. A CHECK cannot be
-- changed in place, so the table is made anew, as sqlite.org/lang_altertable.html describes; foreign
-- keys are off meanwhile (apply_migrations). Views that name the table, a user's own among them, are
-- let be by the old kind of ALTER TABLE. Columns that came later stand in their groups now.
DROP VIEW best;
DROP VIEW failures;
DROP VIEW runs_summary;

CREATE TABLE trials_anew (
  id            INTEGER PRIMARY KEY,
  run           INTEGER NOT NULL REFERENCES runs,
  number        INTEGER NOT NULL CHECK (number > 0),
  config        TEXT NOT NULL CHECK (json_valid(config)),
  operation     TEXT NOT NULL,  -- what made it: 'seed', 'mutate', ...
  stage         TEXT NOT NULL CHECK (stage IN ('space', 'duplicate_source', 'compile', 'resources',
                  'duplicate_code', 'launch', 'gate', 'screen', 'final')),
  outcome       TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'duplicate')),
  finding       TEXT NOT NULL,
  message       TEXT NOT NULL,
  source_hash   TEXT REFERENCES sources,
  code_hash     TEXT,
  -- What a trial's kernel is to a device: SHA-256 of its machine code and of everything a launch is
  -- given, at each shape that its run gates or times. Equal for a duplicate and its twin; compared
  -- within a run. NULL: the trial did not come so far, or is older than this column.
  identity      TEXT CHECK (identity <> ''),
  duplicate_of  INTEGER REFERENCES trials CHECK (duplicate_of < id),
  registers     INTEGER CHECK (registers >= 0),    -- a thread
  spill_bytes   INTEGER CHECK (spill_bytes >= 0),  -- a thread
  static_shared_bytes  INTEGER CHECK (static_shared_bytes >= 0),   -- a block
  dynamic_shared_bytes INTEGER CHECK (dynamic_shared_bytes >= 0),  -- a block
  compile_ms    REAL NOT NULL CHECK (compile_ms >= 0),
  gate_ms       REAL NOT NULL CHECK (gate_ms >= 0),
  measure_ms    REAL NOT NULL CHECK (measure_ms >= 0),
  gate_cases    INTEGER NOT NULL CHECK (gate_cases >= 0),
  worst_ratio   REAL,  -- error over bound; NULL: the kernel's answer was not a number
  worst_rms     REAL,
  -- Two figures: a screen is quick and flatters the lucky, a final is measured anew. Both stay.
  screen_us      REAL CHECK (screen_us > 0 AND screen_us < 9e999),
  screen_low_us  REAL CHECK (screen_low_us > 0),
  screen_high_us REAL CHECK (screen_high_us < 9e999),
  final_us       REAL CHECK (final_us > 0 AND final_us < 9e999),
  final_low_us   REAL CHECK (final_low_us > 0),
  final_high_us  REAL CHECK (final_high_us < 9e999),
  time_us      REAL GENERATED ALWAYS AS (coalesce(final_us, screen_us)) VIRTUAL,
  time_low_us  REAL GENERATED ALWAYS AS (iif(final_us IS NULL, screen_low_us, final_low_us)) VIRTUAL,
  time_high_us REAL GENERATED ALWAYS AS (iif(final_us IS NULL, screen_high_us, final_high_us)) VIRTUAL,
  detail        TEXT CHECK (detail IS NULL OR json_valid(detail)),  -- a prediction's counters and bound
  lane          TEXT,  -- the device that ran the kernel: 'cuda:1'; NULL: none did
  -- Of the run's search, the sessions before this one included, when the trial was written; NULL:
  -- not noted yet at that time.
  at_ms         REAL CHECK (at_ms >= 0),
  finished_at   TEXT NOT NULL,
  UNIQUE (run, number),
  UNIQUE (run, config),  -- nothing is tried twice
  CHECK (screen_us IS NOT NULL OR (screen_low_us IS NULL AND screen_high_us IS NULL)),
  CHECK (final_us IS NOT NULL OR (final_low_us IS NULL AND final_high_us IS NULL)),
  CHECK (screen_low_us <= screen_high_us),
  CHECK (final_low_us <= final_high_us),
  CHECK (outcome <> 'passed' OR time_us IS NOT NULL OR stage NOT IN ('screen', 'final'))
) STRICT;

-- A row that breaks a rule comes along, for `db check` to name it.
PRAGMA ignore_check_constraints = ON;
INSERT INTO trials_anew (
  id, run, number, config, operation, stage, outcome, finding, message, source_hash, code_hash,
  identity, duplicate_of, registers, spill_bytes, static_shared_bytes, dynamic_shared_bytes,
  compile_ms, gate_ms, measure_ms, gate_cases, worst_ratio, worst_rms, screen_us, screen_low_us,
  screen_high_us, final_us, final_low_us, final_high_us, detail, lane, at_ms, finished_at)
SELECT
  id, run, number, config, operation, stage,
  CASE outcome WHEN 'right' THEN 'passed' WHEN 'refused' THEN 'failed' ELSE outcome END,
  iif(finding = 'right', 'passed', finding), message, source_hash, code_hash,
  identity, duplicate_of, registers, spill_bytes, static_shared_bytes, dynamic_shared_bytes,
  compile_ms, gate_ms, measure_ms, gate_cases, worst_ratio, worst_rms, screen_us, screen_low_us,
  screen_high_us, final_us, final_low_us, final_high_us, detail, lane, at_ms, finished_at
FROM trials;
PRAGMA ignore_check_constraints = OFF;

DROP TABLE trials;
PRAGMA legacy_alter_table = ON;
ALTER TABLE trials_anew RENAME TO trials;
PRAGMA legacy_alter_table = OFF;

UPDATE insights SET text = replace(text, ' right,', ' passed,'),
  insight = replace(replace(insight, '"right":', '"passed":'), ' right,', ' passed,')
  WHERE kind = 'operator';

CREATE INDEX trials_source ON trials (source_hash);
CREATE INDEX trials_code ON trials (code_hash);
CREATE INDEX trials_identity ON trials (run, identity);
CREATE TRIGGER trials_stay BEFORE DELETE ON trials
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;

-- Which variant is fastest? Trials that passed, place 1 first, a ranking of its own for each space,
-- shape, device, architecture, target and kind of time. Figures of finals stand before those of
-- screens; kernels that tie stand in the order that the finals gave them.
--   SELECT * FROM best WHERE place = 1;
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
WHERE t.outcome = 'passed' AND t.time_us IS NOT NULL
ORDER BY s.name, r.shape, d.device, d.name, r.arch, r.target, r.time_kind, place, t.id;

-- What goes wrong, where, and how often? With the first trial it happened to.
CREATE VIEW failures AS
SELECT run, stage, finding, count(*) AS count, min(id) AS first_trial, message AS example
FROM trials
WHERE outcome = 'failed'
GROUP BY run, stage, finding
ORDER BY run, count DESC, stage, finding;

-- How did each run go?
CREATE VIEW runs_summary AS
SELECT r.id AS run, s.name AS space, r.shape, d.device, d.name AS device_name, r.arch, r.strategy,
       r.seed, r.state, count(t.id) AS trials,
       count(*) FILTER (WHERE t.outcome = 'passed') AS passed,
       count(*) FILTER (WHERE t.outcome = 'failed') AS failed,
       count(*) FILTER (WHERE t.outcome = 'duplicate') AS duplicates,
       r.time_kind,
       -- Of finals if there are any: the fastest of many screens is mostly the luckiest.
       coalesce(min(t.final_us) FILTER (WHERE t.outcome = 'passed'),
                min(t.screen_us) FILTER (WHERE t.outcome = 'passed')) AS best_us,
       r.started_at, r.finished_at
FROM runs r JOIN spaces s ON s.id = r.space JOIN devices d ON d.id = r.device
     LEFT JOIN trials t ON t.run = r.id
GROUP BY r.id
ORDER BY r.id;
