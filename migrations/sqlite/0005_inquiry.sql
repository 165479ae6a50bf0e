-- A holder's tenures that were open at some time: they ended, or were found
-- lapsed, after it.
create index handovers_held on handovers (previous_holder, held_until)
where held_until is not null;
