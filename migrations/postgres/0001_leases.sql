-- Leases, and the append-only log of their handovers. Times are microseconds
-- since 1970-01-01T00:00:00Z; durations are milliseconds. Names compare
-- bytewise.

create table leases (
    name text collate "C" primary key,
    generation bigint not null,
    -- The tenure; all null while the lease is free.
    holder text collate "C",
    token text,
    claim_id text,
    granted_at bigint,
    renewed_at bigint,
    expires_at bigint,
    ttl_ms bigint,
    grace_ms bigint,
    status text,
    -- The lapse is in the log.
    lapsed boolean not null,
    -- How the last tenure ended: 'released', 'forced', or null.
    last_end text,
    attempt bigint not null,
    principal text,
    protected boolean not null,
    -- JSON, or null.
    step_down text,
    step_down_deadline bigint,
    paused text,
    barred text,
    reserved text,
    -- JSON array of the latest changes of hands, and the sixth latest by
    -- itself: a lease flaps while that one is recent.
    hands text not null,
    sixth_hand_at bigint,
    changed_at bigint not null
)
-- Room on each page, so that a renewal stays on its page and touches no index.
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- No index may cover a column that renewals change: renewed_at, expires_at,
-- ttl_ms, status.
create index leases_holder on leases (holder) where holder is not null;
create index leases_changed on leases (changed_at desc, name);

create table payloads (
    lease text collate "C" primary key references leases (name) on delete cascade,
    payload text not null
);

create table handovers (
    seq bigint primary key check (seq > 0),
    at bigint not null,
    lease text collate "C",
    event text not null,
    generation bigint not null,
    holder text collate "C",
    previous_generation bigint not null,
    previous_holder text collate "C",
    held_from bigint,
    held_until bigint,
    reason text not null,
    incident text,
    actor text not null,
    actor_address text,
    request_id text,
    details text not null,
    prev_hash text not null,
    hash text not null,
    -- A copy out of details, to find a claim that is repeated late.
    claim_id text
);

create index handovers_lease on handovers (lease, seq);
create index handovers_moved on handovers (lease, previous_generation);
create index handovers_holder on handovers (holder, seq);
create index handovers_previous_holder on handovers (previous_holder, seq);
create index handovers_event on handovers (event, seq);
create index handovers_actor on handovers (actor, seq);
create index handovers_incident on handovers (incident, seq) where incident is not null;
create index handovers_at on handovers (at, seq);
create index handovers_claim on handovers (lease, claim_id) where claim_id is not null;

-- The end of the chain, and the floor of new leases' generations.
create table log_head (
    id integer primary key check (id = 1),
    seq bigint not null,
    at bigint not null,
    hash text not null,
    floor bigint not null
);

insert into log_head (id, seq, at, hash, floor)
values (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0);

create function handovers_refuse() returns trigger language plpgsql as $$
begin
    raise exception 'the handover log is append-only: % refused', lower(tg_op)
        using errcode = 'insufficient_privilege';
end
$$;

-- For each statement: it fires also on TRUNCATE, and when no row matches.
create trigger handovers_append_only
before update or delete or truncate on handovers
for each statement execute function handovers_refuse();

-- What a serving role needs that does not own the schema: it can add to the
-- log and read it, and no more. The owner calls this once, and again after
-- each upgrade: select baton_grant('the_serving_role').
create function baton_grant(server name) returns void language plpgsql as $$
begin
    execute format('grant select, insert on handovers to %I', server);
    execute format('grant select, insert, update, delete on leases, payloads to %I', server);
    execute format('grant select, update on log_head to %I', server);
    execute format('grant select, insert, update, delete on users, tokens, sessions, auth_version to %I', server);
    execute format('grant usage on all sequences in schema %I to %I', current_schema(), server);
    execute format('grant select on _sqlx_migrations to %I', server);
end
$$;
