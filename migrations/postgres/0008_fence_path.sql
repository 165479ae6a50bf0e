-- baton_fence runs as its owner. Unless the temporary tables of whoever calls it
-- come last, one of them could stand in for a table that it reads, and its
-- functions would run as the owner too.
do $$
begin
    execute format(
        'alter function baton_fence(text, bigint) set search_path = %s, pg_temp',
        (select relnamespace::regnamespace from pg_class where oid = 'leases'::regclass)
    );
end
$$;
