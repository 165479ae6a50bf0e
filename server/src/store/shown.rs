//! A log shown to a machine, as much as one read brings. What cannot be read is
//! found out one by one; when a whole stretch cannot, reading stops there.

use crate::{
    audit::{Link, Machine},
    database::is_damage,
};

use super::backend::DbResult;

/// Entries in one read.
pub const PAGE: u64 = 500;

/// Shows the entries after one `seq` and up to another, as many as one read brings,
/// and says up to where that was; `None` if nothing more can be read. `read` gives
/// the first [`PAGE`] of those between, oldest first.
///
/// # Errors
/// The database does not answer.
pub async fn show<M, F, R>(machine: &mut M, after: u64, upto: u64, read: R) -> DbResult<Option<u64>>
where
    M: Machine,
    F: Future<Output = DbResult<Vec<M::Entry>>>,
    R: Fn(u64, u64) -> F,
{
    let error = match read(after, upto).await {
        Ok(entries) => {
            entries.iter().for_each(|entry| machine.push(entry));
            let full = entries.len() as u64 == PAGE;
            let last = entries.last().filter(|_| full);
            return Ok(Some(last.map_or(upto, Link::seq)));
        }
        Err(error) if is_damage(&error) => error,
        Err(error) => return Err(error),
    };
    let upto = upto.min(after.saturating_add(PAGE));
    let mut one_by_one = Vec::new();
    let mut any = false;
    for seq in after + 1..=upto {
        match read(seq - 1, seq).await {
            Ok(entries) => {
                any |= !entries.is_empty();
                one_by_one.extend(entries.into_iter().map(|entry| (seq, Ok(entry))));
            }
            Err(error) if is_damage(&error) => one_by_one.push((seq, Err(error.to_string()))),
            Err(error) => return Err(error),
        }
    }
    // An entry alone that cannot be read is one that somebody wrote so.
    if !any && one_by_one.len() != 1 {
        machine.links().stopped(after + 1, error.to_string());
        return Ok(None);
    }
    for (seq, entry) in one_by_one {
        match entry {
            Ok(entry) => machine.push(&entry),
            Err(why) => machine.links().unreadable(seq, why),
        }
    }
    Ok(Some(upto))
}
