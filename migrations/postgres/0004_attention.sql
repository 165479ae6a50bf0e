-- What stands out is found without reading every lease. No renewal changes any
-- of these columns.
create index leases_lapsed on leases (name) where lapsed;
create index leases_flapping on leases (sixth_hand_at) where sixth_hand_at is not null;
create index leases_blocked on leases (blocked_until) where blocked_until is not null;
create index leases_stepping_down on leases (name) where step_down is not null;
