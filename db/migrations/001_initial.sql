-- The first schema. PRAGMA application_id is 0x66617475, the letters "fatu" (1717662837), and marks
-- the file as fa-tune's; PRAGMA user_version is the number of the last migration applied. Both are
-- set by the program in the transaction that runs this file.
--
-- A column without a value is NULL, never -1, '' or 0. Times of kernels are microseconds (_us),
-- everything else that is long is milliseconds (_ms). Instants are UTC, ISO 8601.

CREATE TABLE spaces (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  text TEXT NOT NULL,  -- the YAML as it was, comments and all
  UNIQUE (name, hash, text)
) STRICT;

CREATE TABLE devices (
  id     INTEGER PRIMARY KEY,
  device TEXT NOT NULL CHECK (device <> ''),  -- 'cuda:0', 'emulator:l4'
  name   TEXT NOT NULL,                       -- 'NVIDIA H100 80GB HBM3'
  driver TEXT NOT NULL,
  UNIQUE (device, name, driver)
) STRICT;

CREATE TABLE runs (
  id          INTEGER PRIMARY KEY,
  space       INTEGER NOT NULL REFERENCES spaces,
  device      INTEGER NOT NULL REFERENCES devices,
  problem     TEXT NOT NULL,
  shape       TEXT NOT NULL CHECK (json_valid(shape)),  -- what is timed
  arch        TEXT NOT NULL,                            -- what was compiled for
  target      TEXT NOT NULL,                            -- profile whose limits held
  time_kind   TEXT NOT NULL CHECK (time_kind IN ('measured', 'predicted')),
  compiler    TEXT NOT NULL,
  strategy    TEXT NOT NULL,
  -- Decimal digits: a seed has 64 bits without a sign, an INTEGER of SQLite has a sign.
  seed        TEXT NOT NULL CHECK (seed <> '' AND seed NOT GLOB '*[^0-9]*'),
  options     TEXT NOT NULL CHECK (json_valid(options)),
  state       TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted')),
  started_at  TEXT NOT NULL,
  finished_at TEXT,
  CHECK ((state = 'running') = (finished_at IS NULL))
) STRICT;

-- The complete text of each kernel once, however many trials came to it.
CREATE TABLE sources (
  hash TEXT PRIMARY KEY CHECK (hash <> ''),
  text TEXT NOT NULL CHECK (text <> '')
) STRICT, WITHOUT ROWID;

-- Written before a kernel first runs. One without a trial is what was under way when a run died.
CREATE TABLE attempts (
  run        INTEGER NOT NULL REFERENCES runs,
  number     INTEGER NOT NULL CHECK (number > 0),  -- that of the trial
  attempt    INTEGER NOT NULL CHECK (attempt > 0),
  config     TEXT NOT NULL CHECK (json_valid(config)),
  started_at TEXT NOT NULL,
  PRIMARY KEY (run, number, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE trials (
  id            INTEGER PRIMARY KEY,
  run           INTEGER NOT NULL REFERENCES runs,
  number        INTEGER NOT NULL CHECK (number > 0),
  config        TEXT NOT NULL CHECK (json_valid(config)),
  operation     TEXT NOT NULL,  -- what made it: 'seed', 'mutate', ...
  stage         TEXT NOT NULL CHECK (stage IN ('space', 'duplicate_source', 'compile', 'resources',
                  'duplicate_code', 'launch', 'gate', 'screen', 'final')),
  outcome       TEXT NOT NULL CHECK (outcome IN ('right', 'refused', 'duplicate')),
  finding       TEXT NOT NULL,
  message       TEXT NOT NULL,
  source_hash   TEXT REFERENCES sources,
  code_hash     TEXT,
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
  finished_at   TEXT NOT NULL,
  UNIQUE (run, number),
  UNIQUE (run, config),  -- nothing is tried twice
  CHECK (screen_us IS NOT NULL OR (screen_low_us IS NULL AND screen_high_us IS NULL)),
  CHECK (final_us IS NOT NULL OR (final_low_us IS NULL AND final_high_us IS NULL)),
  CHECK (screen_low_us <= screen_high_us),
  CHECK (final_low_us <= final_high_us),
  CHECK (outcome <> 'right' OR time_us IS NOT NULL OR stage NOT IN ('screen', 'final'))
) STRICT;

CREATE INDEX trials_source ON trials (source_hash);
CREATE INDEX trials_code ON trials (code_hash);

-- A parent is older than its child, so ancestry has no circles.
CREATE TABLE lineage_edges (
  trial   INTEGER NOT NULL REFERENCES trials,
  parent  INTEGER NOT NULL REFERENCES trials CHECK (parent < trial),
  ordinal INTEGER NOT NULL CHECK (ordinal >= 0),  -- 0: the main parent
  genes   TEXT NOT NULL CHECK (json_valid(genes)),  -- {"BLOCK_M":[64,32]}: in the parent, in the child
  PRIMARY KEY (trial, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX lineage_edges_parent ON lineage_edges (parent);

-- One row a series, in the order taken: a hundred rows less a trial than one row a sample, and a
-- series is written and read as a whole. The view sample_values has one row a sample.
CREATE TABLE samples (
  id    INTEGER PRIMARY KEY,
  trial INTEGER NOT NULL REFERENCES trials,
  phase TEXT NOT NULL CHECK (phase IN ('screen', 'final')),
  us    TEXT NOT NULL CHECK (json_valid(us) AND json_type(us) = 'array')
) STRICT;

CREATE INDEX samples_trial ON samples (trial);

-- Rows stay: a search is rebuilt from them, and a figure that was published can be looked up.
CREATE TRIGGER spaces_stay BEFORE DELETE ON spaces
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
CREATE TRIGGER devices_stay BEFORE DELETE ON devices
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
CREATE TRIGGER runs_stay BEFORE DELETE ON runs
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
CREATE TRIGGER sources_stay BEFORE DELETE ON sources
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
CREATE TRIGGER attempts_stay BEFORE DELETE ON attempts
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
CREATE TRIGGER trials_stay BEFORE DELETE ON trials
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
CREATE TRIGGER lineage_edges_stay BEFORE DELETE ON lineage_edges
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
CREATE TRIGGER samples_stay BEFORE DELETE ON samples
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;

-- Which variant is fastest? Right trials, place 1 first, a ranking of its own for each space, shape,
-- device, architecture, target and kind of time. Figures of finals stand before those of screens.
--   SELECT * FROM best WHERE place = 1;
CREATE VIEW best AS
SELECT s.name AS space, r.shape, d.device, d.name AS device_name, r.arch, r.target,
       rank() OVER (PARTITION BY s.name, r.shape, d.device, d.name, r.arch, r.target, r.time_kind
                    ORDER BY t.final_us IS NULL, t.time_us) AS place,
       t.id AS trial,
       iif(r.time_kind = 'measured', t.time_us, NULL) AS measured_us,
       iif(r.time_kind = 'predicted', t.time_us, NULL) AS predicted_us,
       t.time_low_us AS low_us, t.time_high_us AS high_us, t.stage,
       t.config, t.registers, r.id AS run, t.number, t.source_hash
FROM trials t JOIN runs r ON r.id = t.run JOIN spaces s ON s.id = r.space
     JOIN devices d ON d.id = r.device
WHERE t.outcome = 'right' AND t.time_us IS NOT NULL
ORDER BY s.name, r.shape, d.device, d.name, r.arch, r.target, r.time_kind, place, t.id;

-- What goes wrong, where, and how often? With the first trial it happened to.
CREATE VIEW failures AS
SELECT run, stage, finding, count(*) AS count, min(id) AS first_trial, message AS example
FROM trials
WHERE outcome = 'refused'
GROUP BY run, stage, finding
ORDER BY run, count DESC, stage, finding;

-- What did each step change, and what did it bring? gain_percent is the part of the parent's time
-- that was saved: 20 means 80 us instead of 100.
CREATE VIEW lineage AS
SELECT c.run, c.id AS trial, c.number, p.id AS parent, p.number AS parent_number, e.ordinal,
       c.operation, e.genes, c.outcome, r.time_kind, p.time_us AS parent_us, c.time_us,
       round(100 * (1 - c.time_us / p.time_us), 2) AS gain_percent
FROM lineage_edges e JOIN trials c ON c.id = e.trial JOIN trials p ON p.id = e.parent
     JOIN runs r ON r.id = c.run
ORDER BY c.id, e.ordinal;

-- How did each run go?
CREATE VIEW runs_summary AS
SELECT r.id AS run, s.name AS space, r.shape, d.device, d.name AS device_name, r.arch, r.strategy,
       r.seed, r.state, count(t.id) AS trials,
       count(*) FILTER (WHERE t.outcome = 'right') AS "right",
       count(*) FILTER (WHERE t.outcome = 'refused') AS refused,
       count(*) FILTER (WHERE t.outcome = 'duplicate') AS duplicates,
       r.time_kind,
       -- Of finals if there are any: the fastest of many screens is mostly the luckiest.
       coalesce(min(t.final_us) FILTER (WHERE t.outcome = 'right'),
                min(t.screen_us) FILTER (WHERE t.outcome = 'right')) AS best_us,
       r.started_at, r.finished_at
FROM runs r JOIN spaces s ON s.id = r.space JOIN devices d ON d.id = r.device
     LEFT JOIN trials t ON t.run = r.id
GROUP BY r.id
ORDER BY r.id;

-- One row a sample, in the order taken.
CREATE VIEW sample_values AS
SELECT s.trial, s.phase, s.id AS series, v.key AS ordinal, v.value AS us
FROM samples s, json_each(s.us) v
ORDER BY s.id, v.key;
