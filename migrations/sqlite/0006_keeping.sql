-- Keeping the history: what is known about the log's ends, and a second log, of
-- who did what besides changing leases.

-- A checkpoint that is ahead of the log: until everything was raised, nothing is
-- granted.
alter table log_head add column behind_seq integer;
alter table log_head add column behind_hash text;
-- Entries up to here were archived.
alter table log_head add column archived_seq integer not null default 0;

create table access_log (
    seq integer primary key not null check (seq > 0),
    at integer not null,
    event text not null,
    -- Null: nobody knows.
    actor text,
    actor_address text,
    request_id text,
    -- Whom or what it is about: a user, a token, a lease.
    subject text,
    details text not null,
    prev_hash text not null,
    hash text not null
) strict;

create index access_log_event on access_log (event, seq);
create index access_log_actor on access_log (actor, seq);
create index access_log_address on access_log (actor_address, seq);
create index access_log_subject on access_log (subject, seq);
create index access_log_at on access_log (at, seq);

-- The end of its chain.
create table access_head (
    id integer primary key not null check (id = 1),
    seq integer not null,
    at integer not null,
    hash text not null
) strict;

insert into access_head (id, seq, at, hash)
values (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000');

create trigger access_log_no_update before update on access_log
begin
    select raise(abort, 'the access log is append-only: update refused');
end;

create trigger access_log_no_delete before delete on access_log
begin
    select raise(abort, 'the access log is append-only: delete refused');
end;

-- As for the handover log: REPLACE need not fire delete triggers.
create trigger access_log_no_replace before insert on access_log
when exists (select 1 from access_log where seq = new.seq)
begin
    select raise(abort, 'the access log is append-only: replace refused');
end;
