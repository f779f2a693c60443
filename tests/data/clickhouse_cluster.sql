CREATE DATABASE IF NOT EXISTS `turnlog` ON CLUSTER `fleet`;

CREATE TABLE IF NOT EXISTS `turnlog`.sessions_local ON CLUSTER `fleet` (
    owner LowCardinality(String),
    id UInt128,
    write UInt64,
    born Date,
    key String,
    origin LowCardinality(String),
    session_id String,
    project_folder String,
    revision UInt64,
    derivation UInt64,
    present Bool,
    path String,
    transcript_present Bool,
    copied_from Nullable(String),
    told_id Nullable(String),
    title Nullable(String),
    title_key Nullable(String),
    project Nullable(String),
    project_key Nullable(String),
    first_time Nullable(Int64),
    last_time Nullable(Int64),
    messages Int64,
    prompts Int64,
    answers Int64,
    errors Int64,
    problems Int64,
    input_tokens Int64,
    output_tokens Int64,
    cost Nullable(String),
    models Array(String),
    model_keys Array(String),
    branches Array(String),
    branch_keys Array(String),
    series Nullable(String),
    row Nullable(String),
    person LowCardinality(Nullable(String)),
    chosen Nullable(Bool),
    rule Nullable(String),
    shared Bool,
    name Nullable(String),
    name_key Nullable(String),
    tags Array(String),
    starred Bool,
    note Nullable(String),
    archived Bool,
    reported_kind LowCardinality(Nullable(String)),
    reported_cost Nullable(String),
    computed_cost Nullable(String),
    INDEX by_key key TYPE bloom_filter GRANULARITY 4
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
PARTITION BY toYYYYMM(born)
ORDER BY (owner, id)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 128, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.sessions ON CLUSTER `fleet` AS `turnlog`.sessions_local
ENGINE = Distributed('fleet', 'turnlog', sessions_local, cityHash64(id));

CREATE TABLE IF NOT EXISTS `turnlog`.summaries_local ON CLUSTER `fleet` (
    owner LowCardinality(String),
    write UInt64,
    born Date,
    key String,
    origin LowCardinality(String),
    session_id String,
    told_id Nullable(String),
    title Nullable(String),
    title_key Nullable(String),
    project Nullable(String),
    project_key Nullable(String),
    first_time Nullable(Int64),
    last_time Nullable(Int64),
    messages Int64,
    prompts Int64,
    answers Int64,
    errors Int64,
    problems Int64,
    input_tokens Int64,
    output_tokens Int64,
    cost Nullable(String),
    models Array(String),
    model_keys Array(String),
    branches Array(String),
    branch_keys Array(String),
    person LowCardinality(Nullable(String)),
    shared Bool,
    name_key Nullable(String),
    tags Array(String),
    starred Bool,
    archived Bool,
    present Bool,
    series Nullable(String),
    session UInt128,
    listed Bool,
    amount Nullable(Decimal(76, 40)),
    digits UInt8,
    facets UInt128,
    tells_cost Bool
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
PARTITION BY toYYYYMM(born)
ORDER BY (owner, session)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.summaries ON CLUSTER `fleet` AS `turnlog`.summaries_local
ENGINE = Distributed('fleet', 'turnlog', summaries_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.sources_local ON CLUSTER `fleet` (
    session UInt128,
    source UInt128,
    write UInt64,
    born Date,
    name String,
    kind LowCardinality(String),
    agent_id Nullable(String),
    run_id Nullable(String),
    copied_from Nullable(String),
    path String,
    present Bool,
    generation Int64,
    INDEX by_source source TYPE bloom_filter GRANULARITY 1
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
ORDER BY (session, source)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.sources ON CLUSTER `fleet` AS `turnlog`.sources_local
ENGINE = Distributed('fleet', 'turnlog', sources_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.source_paths_local ON CLUSTER `fleet` (
    session UInt128,
    source UInt128,
    at_ns Int64,
    write UInt64,
    born Date,
    path String,
    present Bool
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
ORDER BY (session, source, at_ns)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.source_paths ON CLUSTER `fleet` AS `turnlog`.source_paths_local
ENGINE = Distributed('fleet', 'turnlog', source_paths_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.generations_local ON CLUSTER `fleet` (
    session UInt128,
    source UInt128,
    generation Int64,
    write UInt64,
    born Date,
    length Int64,
    sealed Int64,
    consumed Int64,
    in_array Bool,
    lines Int64,
    checkpoint Nullable(String),
    tail Array(Tuple(Int64, Int64, String, String, Int64, Int64))
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
ORDER BY (session, source, generation)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.generations ON CLUSTER `fleet` AS `turnlog`.generations_local
ENGINE = Distributed('fleet', 'turnlog', generations_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.frames_local ON CLUSTER `fleet` (
    session UInt128,
    source UInt128,
    generation Int64,
    start Int64,
    write UInt64,
    born Date,
    length Int64,
    digest String,
    blob String,
    at Int64,
    size Int64
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
PARTITION BY toYYYYMM(born)
ORDER BY (session, source, generation, start)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.frames ON CLUSTER `fleet` AS `turnlog`.frames_local
ENGINE = Distributed('fleet', 'turnlog', frames_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.lines_local ON CLUSTER `fleet` (
    session UInt128,
    source UInt128,
    generation Int64,
    number Int64,
    write UInt64,
    born Date,
    start Int64 CODEC(Delta, ZSTD),
    length Int64,
    dialect LowCardinality(String),
    type LowCardinality(String),
    uuid Nullable(String),
    parent Nullable(String),
    session_id LowCardinality(Nullable(String)),
    agent_id LowCardinality(Nullable(String)),
    message_id Nullable(String),
    time Nullable(Int64) CODEC(Delta, ZSTD),
    sidechain Bool,
    problems Int64,
    twin Nullable(UInt128),
    INDEX by_twin twin TYPE bloom_filter GRANULARITY 4
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
PARTITION BY toYYYYMM(born)
ORDER BY (session, source, generation, number)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.lines ON CLUSTER `fleet` AS `turnlog`.lines_local
ENGINE = Distributed('fleet', 'turnlog', lines_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.rows_local ON CLUSTER `fleet` (
    session UInt128,
    kind UInt8,
    source UInt128,
    idx Int64,
    revision UInt64,
    write UInt64,
    born Date,
    gone Bool,
    digest UInt64,
    row String CODEC(ZSTD(3)),
    id Nullable(String),
    name Nullable(String),
    role LowCardinality(String),
    lane LowCardinality(String),
    category LowCardinality(Nullable(String)),
    state LowCardinality(String),
    agent LowCardinality(Nullable(String)),
    agent_type LowCardinality(Nullable(String)),
    parent Nullable(Int64),
    branch Int64,
    active Bool,
    turn Nullable(Int64),
    message Nullable(Int64),
    reached Nullable(Int64),
    line Int64,
    at_source UInt128,
    at_generation Int64,
    at_start Int64,
    block Int64,
    result_source Nullable(UInt128),
    result_generation Int64,
    result_start Int64,
    result_block Nullable(Int64),
    path Nullable(String),
    started Nullable(Int64),
    ended Nullable(Int64),
    duration_ms Nullable(Int64),
    hook LowCardinality(Nullable(String)),
    tool_use_id Nullable(String),
    time Nullable(Int64),
    answer UInt128
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
PARTITION BY toYYYYMM(born)
ORDER BY (session, kind, source, idx, revision)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.rows ON CLUSTER `fleet` AS `turnlog`.rows_local
ENGINE = Distributed('fleet', 'turnlog', rows_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.sightings_local ON CLUSTER `fleet` (
    answer UInt128,
    session UInt128,
    source UInt128,
    idx Int64,
    revision UInt64,
    write UInt64,
    born Date,
    gone Bool,
    row String CODEC(ZSTD(3))
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
ORDER BY (answer, session, source, idx, revision)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.sightings ON CLUSTER `fleet` AS `turnlog`.sightings_local
ENGINE = Distributed('fleet', 'turnlog', sightings_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.texts_local ON CLUSTER `fleet` (
    owner LowCardinality(String),
    time Int64 CODEC(Delta, ZSTD),
    file Int64,
    at Int64,
    generation Int64,
    write UInt64,
    born Date,
    session UInt128,
    block Int64,
    state UInt8,
    cells Int64,
    words Array(String) CODEC(ZSTD),
    counts Array(UInt8) CODEC(ZSTD),
    INDEX by_word words TYPE text(tokenizer = 'array'),
    INDEX by_session session TYPE bloom_filter GRANULARITY 1,
    INDEX by_write write TYPE minmax GRANULARITY 1
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(born)
ORDER BY (owner, time, file, at, generation, write)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.texts ON CLUSTER `fleet` AS `turnlog`.texts_local
ENGINE = Distributed('fleet', 'turnlog', texts_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.words_local ON CLUSTER `fleet` (
    word String,
    write UInt64,
    born Date,
    INDEX by_fragment word TYPE text(tokenizer = ngrams(3))
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
PARTITION BY toYYYYMM(born)
ORDER BY (word)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.words ON CLUSTER `fleet` AS `turnlog`.words_local
ENGINE = Distributed('fleet', 'turnlog', words_local, rand());

CREATE TABLE IF NOT EXISTS `turnlog`.answers_local ON CLUSTER `fleet` (
    owner LowCardinality(String),
    session UInt128,
    slot Int64,
    digest UInt128,
    answer UInt128,
    mark UInt64,
    sign Int8,
    born Date,
    message_id String,
    session_id String,
    model LowCardinality(Nullable(String)),
    agent LowCardinality(Nullable(String)),
    skill LowCardinality(Nullable(String)),
    mcp_server LowCardinality(Nullable(String)),
    terms LowCardinality(String),
    audience UInt8,
    time Nullable(Int64),
    flags UInt8,
    input Int64,
    output Int64,
    cache_read Int64,
    cache_write_5m Int64,
    cache_write_1h Int64,
    web_searches Int64,
    cost Int128,
    saved Int128
) ENGINE = ReplicatedCollapsingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', sign)
PARTITION BY toYYYYMM(born)
ORDER BY (owner, session, slot, digest, answer, mark)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.answers ON CLUSTER `fleet` AS `turnlog`.answers_local
ENGINE = Distributed('fleet', 'turnlog', answers_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.usage_rollup_local ON CLUSTER `fleet` (
    owner LowCardinality(String),
    session UInt128,
    slot Int64,
    digest UInt128,
    born Date,
    session_id SimpleAggregateFunction(any, String),
    model SimpleAggregateFunction(any, LowCardinality(Nullable(String))),
    agent SimpleAggregateFunction(any, LowCardinality(Nullable(String))),
    skill SimpleAggregateFunction(any, LowCardinality(Nullable(String))),
    mcp_server SimpleAggregateFunction(any, LowCardinality(Nullable(String))),
    terms SimpleAggregateFunction(any, LowCardinality(String)),
    audience SimpleAggregateFunction(any, UInt8),
    priced SimpleAggregateFunction(any, Bool),
    messages SimpleAggregateFunction(sum, Int64),
    incomplete SimpleAggregateFunction(sum, Int64),
    unpriced SimpleAggregateFunction(sum, Int64),
    input SimpleAggregateFunction(sum, Int128),
    output SimpleAggregateFunction(sum, Int128),
    cache_read SimpleAggregateFunction(sum, Int128),
    cache_write_5m SimpleAggregateFunction(sum, Int128),
    cache_write_1h SimpleAggregateFunction(sum, Int128),
    web_searches SimpleAggregateFunction(sum, Int128),
    cost SimpleAggregateFunction(sum, Int128),
    saved SimpleAggregateFunction(sum, Int128),
    first SimpleAggregateFunction(min, Nullable(Int64)),
    last SimpleAggregateFunction(max, Nullable(Int64))
) ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(born)
ORDER BY (owner, session, slot, digest)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.usage_rollup ON CLUSTER `fleet` AS `turnlog`.usage_rollup_local
ENGINE = Distributed('fleet', 'turnlog', usage_rollup_local, cityHash64(session));

CREATE TABLE IF NOT EXISTS `turnlog`.deliveries_local ON CLUSTER `fleet` (
    owner LowCardinality(String),
    session_id String,
    received_ns Int64,
    digest UInt128,
    write UInt64,
    born Date,
    number Int64,
    delivery_id String,
    event_name LowCardinality(String),
    notification_type LowCardinality(Nullable(String)),
    tool_name LowCardinality(Nullable(String)),
    label Nullable(String),
    group_name LowCardinality(Nullable(String)),
    context Nullable(String),
    tool_use_id Nullable(String),
    agent_id Nullable(String),
    origin LowCardinality(String),
    person LowCardinality(Nullable(String)),
    payload String CODEC(ZSTD(3)),
    INDEX by_number number TYPE bloom_filter GRANULARITY 1
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
PARTITION BY toYYYYMM(born)
ORDER BY (owner, session_id, received_ns, digest)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.deliveries ON CLUSTER `fleet` AS `turnlog`.deliveries_local
ENGINE = Distributed('fleet', 'turnlog', deliveries_local, rand());

CREATE TABLE IF NOT EXISTS `turnlog`.delivery_numbers_local ON CLUSTER `fleet` (
    owner LowCardinality(String),
    digest UInt128,
    write UInt64,
    born Date,
    number Int64,
    session_id String,
    received_ns Int64
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', write)
ORDER BY (owner, digest)
TTL born + INTERVAL 400 DAY
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.delivery_numbers ON CLUSTER `fleet` AS `turnlog`.delivery_numbers_local
ENGINE = Distributed('fleet', 'turnlog', delivery_numbers_local, rand());

CREATE TABLE IF NOT EXISTS `turnlog`.about_local ON CLUSTER `fleet` (
    name String,
    value String
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (name)
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS `turnlog`.about ON CLUSTER `fleet` AS `turnlog`.about_local
ENGINE = Distributed('fleet', 'turnlog', about_local, rand());

CREATE MATERIALIZED VIEW IF NOT EXISTS `turnlog`.summarised ON CLUSTER `fleet` TO `turnlog`.summaries_local AS SELECT e.owner AS owner, e.write AS write, e.born AS born, e.key AS key, e.origin AS origin, e.session_id AS session_id, e.told_id AS told_id, e.title AS title, e.title_key AS title_key, e.project AS project, e.project_key AS project_key, e.first_time AS first_time, e.last_time AS last_time, e.messages AS messages, e.prompts AS prompts, e.answers AS answers, e.errors AS errors, e.problems AS problems, e.input_tokens AS input_tokens, e.output_tokens AS output_tokens, e.cost AS cost, e.models AS models, e.model_keys AS model_keys, e.branches AS branches, e.branch_keys AS branch_keys, e.person AS person, e.shared AS shared, e.name_key AS name_key, e.tags AS tags, e.starred AS starred, e.archived AS archived, e.present AS present, e.series AS series, e.id AS session, e.row IS NOT NULL AS listed, if(ifNull(match(e.cost, '^-?[0-9]{1,20}(\\.[0-9]{1,20})?(E-1?[0-9])?$'), false), toDecimal256OrZero(assumeNotNull(e.cost), 40), NULL) AS amount, if(ifNull(match(e.cost, '^-?[0-9]{1,20}(\\.[0-9]{1,20})?(E-1?[0-9])?$'), false), length(extract(assumeNotNull(e.cost), '\\.([0-9]+)')) + toUInt8OrZero(extract(assumeNotNull(e.cost), 'E-([0-9]+)')), 0) AS digits, reinterpretAsUInt128(sipHash128(e.models, e.branches, e.tags, ifNull(e.person, ''), e.origin)) AS facets, ifNull(match(e.row, '"reported_cost": *["0-9-]'), false) AS tells_cost FROM `turnlog`.sessions_local AS e;

CREATE MATERIALIZED VIEW IF NOT EXISTS `turnlog`.sighted ON CLUSTER `fleet` TO `turnlog`.sightings_local AS SELECT answer, session, source, idx, revision, write, born, gone, row FROM `turnlog`.rows_local WHERE kind = 6;

CREATE MATERIALIZED VIEW IF NOT EXISTS `turnlog`.listed ON CLUSTER `fleet` TO `turnlog`.words_local AS SELECT arrayJoin(t.words) AS word, max(t.write) AS write, toLastDayOfMonth(t.born) AS born FROM `turnlog`.texts_local AS t GROUP BY word, born;

CREATE MATERIALIZED VIEW IF NOT EXISTS `turnlog`.counted_up ON CLUSTER `fleet` TO `turnlog`.usage_rollup_local AS 
SELECT owner, session, slot, digest, any(a.born) AS born, any(a.session_id) AS session_id, any(a.model) AS model, any(a.agent) AS agent, any(a.skill) AS skill, any(a.mcp_server) AS mcp_server, any(a.terms) AS terms, any(a.audience) AS audience, any(a.flags < 2) AS priced, sum(toInt64(a.sign)) AS messages,
    sum(toInt64(bitAnd(a.flags, 1)) * a.sign) AS incomplete,
    sum(toInt64(bitShiftRight(a.flags, 1)) * a.sign) AS unpriced, sum(toInt128(a.input) * a.sign) AS input, sum(toInt128(a.output) * a.sign) AS output, sum(toInt128(a.cache_read) * a.sign) AS cache_read, sum(toInt128(a.cache_write_5m) * a.sign) AS cache_write_5m, sum(toInt128(a.cache_write_1h) * a.sign) AS cache_write_1h, sum(toInt128(a.web_searches) * a.sign) AS web_searches, sum(toInt128(a.cost) * a.sign) AS cost, sum(toInt128(a.saved) * a.sign) AS saved,
    minIf(a.time, a.sign > 0) AS first, maxIf(a.time, a.sign > 0) AS last
FROM `turnlog`.answers_local AS a GROUP BY owner, session, slot, digest
;

CREATE MATERIALIZED VIEW IF NOT EXISTS `turnlog`.numbered ON CLUSTER `fleet` TO `turnlog`.delivery_numbers_local AS SELECT owner, digest, write, born, number, session_id, received_ns FROM `turnlog`.deliveries_local;

