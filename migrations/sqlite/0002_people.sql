-- Who may ask: users with a password, API tokens, and sessions of users.
-- Times are microseconds since 1970 in UTC.

create table users (
    id text primary key,
    -- Never freed: the log names people by it.
    name text not null unique,
    -- Argon2id, as a PHC string.
    password_hash text not null,
    role text not null check (role in ('viewer', 'holder', 'operator', 'admin')),
    created_at integer not null,
    signed_in_at integer,
    disabled_at integer
) strict;

create table tokens (
    id text primary key,
    -- Never freed, not even by revoking: tenures are bound to it.
    name text not null unique,
    -- SHA-256 of the secret, which is stored nowhere.
    digest blob not null unique check (length(digest) = 32),
    role text not null check (role in ('viewer', 'holder', 'operator', 'admin')),
    -- A JSON array of lease-name prefixes; empty: no limit.
    prefixes text not null,
    created_at integer not null,
    rotated_at integer,
    expires_at integer,
    revoked_at integer,
    last_used_at integer
) strict;

create table sessions (
    -- SHA-256 of the cookie's secret.
    digest blob primary key check (length(digest) = 32),
    user_id text not null references users (id),
    created_at integer not null,
    last_seen_at integer not null,
    expires_at integer not null
) strict;

create index sessions_user_id on sessions (user_id);

-- Counts every change of users and tokens and every end of a session, so that
-- servers notice by reading one number.
create table auth_version (
    id integer primary key check (id = 1),
    version integer not null
) strict;

insert into auth_version (id, version)
values (1, 1);
