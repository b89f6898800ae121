-- How a run stood when its engine last wrote that, which it does about once a second while something
-- changes: for `fa-tune status`. Only what does not follow from the other tables is here, and nothing
-- that decides what a run finds. No row: the run is older than this table.
--
-- status: {"phase": "search", "began": "2026-01-02T03:04:05.678Z" (this session),
--   "budget": {"trials": 120, "seconds": null}, "waits_for": "compilers",
--   "step": {"name": "gated", "done": 3, "of": 12} (of the finals) or null,
--   "devices": [{"device": "n1/cuda:0" (as in trials.lane), "state": "working", "does": "trial 7",
--                "since": "2026-01-02T03:04:09.012Z", "why": null}]}
CREATE TABLE run_status (
  run    INTEGER PRIMARY KEY REFERENCES runs,
  at     TEXT NOT NULL,
  status TEXT NOT NULL CHECK (json_valid(status))
) STRICT;

CREATE TRIGGER run_status_stay BEFORE DELETE ON run_status
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
