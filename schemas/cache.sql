-- frit's tuning cache: one SQLite file. This text is compiled into the library and run once, in one transaction, when a
-- cache file is made; tuner/store_schema.cpp then sets
--     application_id = 0x66726974 ("frit")   what the file is: anything else is foreign and is set aside
--     user_version   = 1                     version of this schema: older ones are migrated, newer ones are only read
-- and has set, before it, auto_vacuum = incremental. The journal is WAL on a local file system and a rollback journal
-- elsewhere; a file keeps the journal that it was made with, except that a WAL file is converted on a network.
--
-- Rules for whoever changes this file:
--   * raise the version, add a migration to store_schema.cpp and a test with a file of the old version;
--   * times are whole seconds since 1970 (wall clock: it may jump, so nothing but age-based pruning depends on them);
--   * hashes are the 16 bytes of Hash128, high half first, big-endian; checksums are 64 bits of the same function over
--     the row's content and the hash of its key (byte layout: tuner/store_rows.cpp), so that a flipped bit anywhere in
--     a row turns that row into a miss and nothing else;
--   * enumerations are stored as the numbers listed here and never renumbered.

-- What decisions, plans and objects are found by. `text` is the list of named ingredients (format: schemas/key.md) and
-- `hash` the hash of exactly these bytes; a lookup compares both, so neither a collision nor a damaged row can hit.
CREATE TABLE keys (
  id INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,      -- 1 decision, 2 plan, 3 binary
  hash BLOB NOT NULL,
  kin BLOB NOT NULL,          -- hash of what must agree for a record to be near (empty for binaries)
  subject BLOB NOT NULL,      -- hash of the first ingredient (the group's or graph's text) (empty for binaries)
  text TEXT NOT NULL,
  last_use INTEGER NOT NULL,  -- written at most once an hour per key
  UNIQUE (kind, hash)
);
CREATE INDEX keys_by_kin ON keys (kin) WHERE kind <> 3;
CREATE INDEX keys_by_subject ON keys (subject) WHERE kind <> 3;
CREATE INDEX keys_by_use ON keys (last_use);

-- The machine and the versions behind a measurement: cache sizes, clocks, host, driver, compiler ... (same format as
-- keys.text). It orders near hits and explains; it is never part of a key. One row per distinct text.
CREATE TABLE provenance (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  text TEXT NOT NULL
);

-- The kernel chosen for a decision key. Usually one row per key; more only when several versions of frit, which know
-- different versions of a family, share the file.
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL,
  family TEXT NOT NULL,
  family_version INTEGER NOT NULL,
  state INTEGER NOT NULL,     -- 0 heuristic, 1 partial (the budget ended), 2 tuned
  params TEXT NOT NULL,       -- text form of Params
  evidence TEXT NOT NULL,     -- JSON object: samples, times, spread, runner-up, strategy ... (schemas/pack.md)
  provenance_id INTEGER NOT NULL,
  origin TEXT NOT NULL,       -- 'local', or 'pack:<content hash>' of the file it was imported from
  created INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE (key_id, family, family_version)
);

-- How a whole graph was cut, laid out and scheduled; text is opaque here. version is the partitioner's.
CREATE TABLE plans (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  evidence TEXT NOT NULL,
  provenance_id INTEGER NOT NULL,
  origin TEXT NOT NULL,
  created INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE (key_id, version)
);

-- Every variant that was ever measured or that failed, in the order it happened; each is committed by itself.
CREATE TABLE trials (
  key_id INTEGER NOT NULL,
  seq INTEGER NOT NULL,       -- 1, 2, 3 ... within the key
  family TEXT NOT NULL,
  family_version INTEGER NOT NULL,
  params TEXT NOT NULL,
  outcome INTEGER NOT NULL,   -- 0 measured, 1 compile error, 2 crash, 3 timeout, 4 wrong answer, 5 wrote out of bounds,
                              -- 6 too much memory, 7 reported a run-time error, 8 no legal program
  reason TEXT NOT NULL,       -- for a failure: what was seen
  time_ns REAL NOT NULL,      -- median
  spread_ns REAL NOT NULL,    -- median absolute deviation
  samples INTEGER NOT NULL,
  provenance_id INTEGER NOT NULL,
  created INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (key_id, seq)
) WITHOUT ROWID;

-- Compiled kernels. Who emitted and compiled them stands beside the key, not in it: a process with a compiler may
-- rebuild what is older, one without takes it as it is.
CREATE TABLE objects (
  key_id INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL,
  emitter TEXT NOT NULL,
  compiler TEXT NOT NULL,
  origin TEXT NOT NULL,       -- 'local', or 'trusted:<content hash>': imported on the user's own word
  created INTEGER NOT NULL,
  checksum BLOB NOT NULL      -- 16 bytes, over the key's hash and every column above
);

-- Kernels that ran without a tuned decision under on_miss = background, until a tuner reads the notes.
CREATE TABLE misses (
  key_id INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL
);
