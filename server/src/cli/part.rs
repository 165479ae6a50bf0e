//! A file that is not whole yet, under a name that says so.

use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

/// Opens it, empty, for this process alone.
///
/// # Errors
/// It cannot be written; [`ErrorKind::ResourceBusy`] if somebody else writes it.
pub fn open_alone(part: &Path) -> io::Result<File> {
    let busy = || io::Error::new(ErrorKind::ResourceBusy, "somebody else is writing it");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(part)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(busy()),
        // Not every file system has locks.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // Whoever had the lock may have given the file its name: then this is that one.
    let ours = file.metadata()?;
    let is_ours = |there: fs::Metadata| (there.dev(), there.ino()) == (ours.dev(), ours.ino());
    if !fs::metadata(part).is_ok_and(is_ours) {
        return Err(busy());
    }
    file.set_len(0)?;
    Ok(file)
}
