-- What limits trials (fa-tune profile). A trial may be profiled many times: by Nsight Compute on a
-- GPU, by the emulator's model; the newest of a source counts.
CREATE TABLE profiles (
  id          INTEGER PRIMARY KEY,
  trial       INTEGER NOT NULL REFERENCES trials,
  source      TEXT NOT NULL CHECK (source IN ('ncu', 'emulator')),
  version     TEXT NOT NULL,  -- of ncu; the emulator's: the device profile's name
  device      TEXT NOT NULL CHECK (device <> ''),
  device_name TEXT NOT NULL,
  driver      TEXT NOT NULL,
  time_kind   TEXT NOT NULL CHECK (time_kind IN ('measured', 'predicted')),
  time_us     REAL NOT NULL CHECK (time_us > 0 AND time_us < 9e999),
  limited_by  TEXT NOT NULL CHECK (limited_by <> ''),        -- 'tensor', 'latency', ...
  profile     TEXT NOT NULL CHECK (json_valid(profile)),     -- all of it, counters included
  at          TEXT NOT NULL,
  CHECK ((source = 'emulator') = (time_kind = 'predicted'))
) STRICT;
CREATE INDEX profiles_trial ON profiles (trial);

CREATE TRIGGER profiles_stay BEFORE DELETE ON profiles
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
