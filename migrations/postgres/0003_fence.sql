-- Fenced transactions: a transaction that writes in a holder's name calls
-- baton_fence first, and fails unless its generation is current. Until it ends,
-- the lease changes hands no more; renewals pass.

-- A change of hands that has to wait for fenced transactions leaves a mark, so
-- that no new one gets in and open ones drain. It lapses by itself, should the
-- server that waits be killed.
alter table leases
    add column blocked text,
    add column blocked_until bigint;

-- What a fenced transaction locks besides the row, so that it can be told who
-- is waited for: shared, and let go at the transaction's end.
create function baton_fence_key(lease text) returns bigint language sql immutable as $$
    select hashtextextended('baton_fence:' || lease, 0)
$$;

-- Fails (SQLSTATE BT409) unless `presented` is the lease's generation and
-- nobody else may take the lease already or waits for it to change hands.
create function baton_fence(fenced text, presented bigint) returns void
language plpgsql security definer set search_path from current as $$
declare
    lease record;
    now bigint;
begin
    perform pg_advisory_xact_lock_shared(baton_fence_key(fenced));
    -- Renewals (no key update) go on beside this; a change of hands (update)
    -- waits for it, or is waited for here and then seen.
    select generation, holder, expires_at + grace_ms * 1000 as takeable_at,
        step_down_deadline, blocked_until
    into lease
    from leases
    where name = fenced
    for key share;
    if not found or lease.holder is null or lease.generation <> presented then
        raise exception 'lease % is not held with generation %: this write is fenced off',
            fenced, presented
            using errcode = 'BT409';
    end if;
    -- Read after the row is locked: it may have been waited for.
    now := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    if lease.takeable_at <= now or lease.step_down_deadline <= now then
        raise exception 'lease % has run out: this write is fenced off; renew the lease first', fenced
            using errcode = 'BT409';
    end if;
    if lease.blocked_until > now then
        raise exception 'lease % is about to change hands: this write is fenced off', fenced
            using errcode = 'BT409';
    end if;
end
$$;

-- Whoever may call it can hold off changes of hands, so not everybody may. The
-- owner lets an application's role: select baton_grant_fence('the_application').
revoke execute on function baton_fence(text, bigint) from public;

create function baton_grant_fence(application name) returns void language plpgsql as $$
begin
    execute format('grant execute on function baton_fence(text, bigint) to %I', application);
end
$$;
