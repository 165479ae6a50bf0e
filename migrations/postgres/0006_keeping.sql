-- Keeping the history: what is known about the log's ends, and a second log, of
-- who did what besides changing leases.

alter table log_head
    -- A checkpoint that is ahead of the log: until everything was raised,
    -- nothing is granted.
    add column behind_seq bigint,
    add column behind_hash text,
    -- Entries up to here were archived.
    add column archived_seq bigint not null default 0;

create table access_log (
    seq bigint primary key check (seq > 0),
    at bigint not null,
    event text not null,
    -- Null: nobody knows.
    actor text,
    actor_address text,
    request_id text,
    -- Whom or what it is about: a user, a token, a lease.
    subject text collate "C",
    details text not null,
    prev_hash text not null,
    hash text not null
);

create index access_log_event on access_log (event, seq);
create index access_log_actor on access_log (actor, seq);
create index access_log_address on access_log (actor_address, seq);
create index access_log_subject on access_log (subject, seq);
create index access_log_at on access_log (at, seq);

-- The end of its chain.
create table access_head (
    id integer primary key check (id = 1),
    seq bigint not null,
    at bigint not null,
    hash text not null
);

insert into access_head (id, seq, at, hash)
values (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000');

create function access_log_refuse() returns trigger language plpgsql as $$
begin
    raise exception 'the access log is append-only: % refused', lower(tg_op)
        using errcode = 'insufficient_privilege';
end
$$;

-- For each statement: it fires also on TRUNCATE, and when no row matches.
create trigger access_log_append_only
before update or delete or truncate on access_log
for each statement execute function access_log_refuse();

-- As in 0001, and what is new here.
create or replace function baton_grant(server name) returns void language plpgsql as $$
begin
    execute format('grant select, insert on handovers, access_log to %I', server);
    execute format('grant select, insert, update, delete on leases, payloads to %I', server);
    execute format('grant select, update on log_head, access_head to %I', server);
    execute format('grant select, insert, update, delete on users, tokens, sessions, auth_version to %I', server);
    execute format('grant usage on all sequences in schema %I to %I', current_schema(), server);
    execute format('grant select on _sqlx_migrations to %I', server);
end
$$;
