CREATE DATABASE IF NOT EXISTS `turnlog` ON CLUSTER `fleet`;

CREATE TABLE IF NOT EXISTS `turnlog`.texts_local ON CLUSTER `fleet` (
    owner LowCardinality(String),
    time Int64 CODEC(Delta, ZSTD),
    generation Int64 CODEC(Delta, ZSTD),
    at Int64 CODEC(Delta, ZSTD),
    version UInt64 CODEC(Delta, ZSTD),
    block UInt32 CODEC(ZSTD),
    state UInt8,
    cells UInt32 CODEC(ZSTD),
    words Array(String) CODEC(ZSTD),
    counts Array(UInt8) CODEC(ZSTD),
    INDEX by_word words TYPE text(tokenizer = 'array'),
    INDEX by_generation generation TYPE minmax GRANULARITY 1
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
PARTITION BY intDiv(generation, 68719476736)
ORDER BY (owner, time, generation, at)
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 0, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, max_cleanup_delay_period = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.texts ON CLUSTER `fleet` AS `turnlog`.texts_local
ENGINE = Distributed('fleet', 'turnlog', texts_local, cityHash64(generation));

CREATE TABLE IF NOT EXISTS `turnlog`.usage_local ON CLUSTER `fleet` (
    session Int64,
    version UInt64,
    owner LowCardinality(String),
    person LowCardinality(Nullable(String)),
    project LowCardinality(Nullable(String)),
    origin LowCardinality(String),
    is_shared UInt8,
    session_id Array(String) CODEC(ZSTD),
    model Array(LowCardinality(Nullable(String))),
    agent Array(LowCardinality(Nullable(String))),
    skill Array(LowCardinality(Nullable(String))),
    mcp_server Array(LowCardinality(Nullable(String))),
    terms Array(LowCardinality(Nullable(String))),
    audience Array(UInt8) CODEC(ZSTD),
    slot Array(Int64) CODEC(ZSTD),
    messages Array(Int64) CODEC(ZSTD),
    incomplete Array(Int64) CODEC(ZSTD),
    unpriced Array(Int64) CODEC(ZSTD),
    input Array(Int64) CODEC(ZSTD),
    output Array(Int64) CODEC(ZSTD),
    cache_read Array(Int64) CODEC(ZSTD),
    cache_write_5m Array(Int64) CODEC(ZSTD),
    cache_write_1h Array(Int64) CODEC(ZSTD),
    web_searches Array(Int64) CODEC(ZSTD),
    cost Array(Int64) CODEC(ZSTD),
    saved Array(Int64) CODEC(ZSTD),
    first Array(Nullable(Int64)) CODEC(ZSTD),
    last Array(Nullable(Int64)) CODEC(ZSTD)
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)
ORDER BY (session)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 0, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, max_cleanup_delay_period = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.usage ON CLUSTER `fleet` AS `turnlog`.usage_local
ENGINE = Distributed('fleet', 'turnlog', usage_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.about_local ON CLUSTER `fleet` (
    id UInt8,
    archive String
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (id)
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 0, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, max_cleanup_delay_period = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.about ON CLUSTER `fleet` AS `turnlog`.about_local
ENGINE = Distributed('fleet', 'turnlog', about_local, id);
