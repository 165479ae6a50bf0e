-- Who may ask: users with a password, API tokens, and sessions of users.
-- Times are microseconds since 1970 in UTC.
--
-- A server that runs as another role than the one that owns these tables gets
-- what it needs from baton_grant of 0001.

create table users (
    id text primary key,
    -- Never freed: the log names people by it.
    name text collate "C" not null unique,
    -- Argon2id, as a PHC string.
    password_hash text not null,
    role text not null check (role in ('viewer', 'holder', 'operator', 'admin')),
    created_at bigint not null,
    signed_in_at bigint,
    disabled_at bigint
);

create table tokens (
    id text primary key,
    -- Never freed, not even by revoking: tenures are bound to it.
    name text collate "C" not null unique,
    -- SHA-256 of the secret, which is stored nowhere.
    digest bytea not null unique check (length(digest) = 32),
    role text not null check (role in ('viewer', 'holder', 'operator', 'admin')),
    -- A JSON array of lease-name prefixes; empty: no limit.
    prefixes text not null,
    created_at bigint not null,
    rotated_at bigint,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
);

create table sessions (
    -- SHA-256 of the cookie's secret.
    digest bytea primary key check (length(digest) = 32),
    user_id text not null references users (id),
    created_at bigint not null,
    last_seen_at bigint not null,
    expires_at bigint not null
);

create index sessions_user_id on sessions (user_id);

-- Counts every change of users and tokens and every end of a session, so that
-- servers notice by reading one number.
create table auth_version (
    id integer primary key check (id = 1),
    version bigint not null
);

insert into auth_version (id, version)
values (1, 1);
