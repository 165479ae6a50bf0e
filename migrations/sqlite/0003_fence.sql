-- Fenced transactions are PostgreSQL's: here nobody but the server writes. The
-- columns are there so that both databases have the same.
alter table leases add column blocked text;
alter table leases add column blocked_until integer;
