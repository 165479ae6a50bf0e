//! Checkpoints: where the log ended at some time, remembered outside of it. They
//! tell what no chain can tell by itself: that its newest entries are missing, or
//! that all of it was written anew.

mod key;
mod newest;
mod schedule;
mod signed;

pub use key::{Key, KeyError};
pub use newest::{ReadError, is_cut_off, newest};
pub use schedule::{Schedule, append};
pub use signed::Checkpoint;
