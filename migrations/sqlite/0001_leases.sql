-- Leases, and the append-only log of their handovers. Times are microseconds
-- since 1970-01-01T00:00:00Z; durations are milliseconds.

create table leases (
    name text primary key not null,
    generation integer not null,
    -- The tenure; all null while the lease is free.
    holder text,
    token text,
    claim_id text,
    granted_at integer,
    renewed_at integer,
    expires_at integer,
    ttl_ms integer,
    grace_ms integer,
    status text,
    -- The lapse is in the log.
    lapsed integer not null,
    -- How the last tenure ended: 'released', 'forced', or null.
    last_end text,
    attempt integer not null,
    principal text,
    protected integer not null,
    -- JSON, or null.
    step_down text,
    step_down_deadline integer,
    paused text,
    barred text,
    reserved text,
    -- JSON array of the latest changes of hands, and the sixth latest by
    -- itself: a lease flaps while that one is recent.
    hands text not null,
    sixth_hand_at integer,
    changed_at integer not null
) without rowid;

-- No index may cover a column that renewals change: renewed_at, expires_at,
-- ttl_ms, status.
create index leases_holder on leases (holder) where holder is not null;
create index leases_changed on leases (changed_at desc, name);

-- Apart from the lease, so that a renewal does not rewrite it.
create table payloads (
    lease text primary key not null references leases (name) on delete cascade,
    payload text not null
);

create table handovers (
    seq integer primary key not null check (seq > 0),
    at integer not null,
    lease text,
    event text not null,
    generation integer not null,
    holder text,
    previous_generation integer not null,
    previous_holder text,
    held_from integer,
    held_until integer,
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
    id integer primary key not null check (id = 1),
    seq integer not null,
    at integer not null,
    hash text not null,
    floor integer not null
);

insert into log_head (id, seq, at, hash, floor)
values (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0);

create trigger handovers_no_update before update on handovers
begin
    select raise(abort, 'the handover log is append-only: update refused');
end;

create trigger handovers_no_delete before delete on handovers
begin
    select raise(abort, 'the handover log is append-only: delete refused');
end;

-- REPLACE deletes without firing delete triggers, unless a pragma of the
-- connection says otherwise. This one always fires.
create trigger handovers_no_replace before insert on handovers
when exists (select 1 from handovers where seq = new.seq)
begin
    select raise(abort, 'the handover log is append-only: replace refused');
end;
