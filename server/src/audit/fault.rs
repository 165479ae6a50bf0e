//! What can be wrong with a log, in words: what, and what could have caused it.

use std::fmt;

use baton_client::{Found, Generation, HolderId, LeaseName, Timestamp};

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// At which entry; `None` if it is about the whole.
    pub seq: Option<u64>,
    /// What.
    pub fault: Fault,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Its hash is not that of its fields. With another `seq` it would be.
    Edited {
        /// The `seq` that its hash was made with, if it is one nearby.
        was: Option<u64>,
    },
    /// It is not an entry of the log at all.
    Unreadable(String),
    /// Nothing from here on can be read.
    Stopped(String),
    /// Its `prev_hash` is not the hash of the entry before.
    Unchained,
    /// Entries are not there.
    Missing {
        /// The first of them.
        from: u64,
        /// The last of them.
        to: u64,
    },
    /// It comes after an entry that it should come before.
    OutOfOrder {
        /// The entry before.
        after: u64,
    },
    /// The log does not begin at its beginning, and no `archived` entry says why.
    BeginningMissing,
    /// Its time is before that of the entry before.
    TimeFell {
        /// The time of the entry before.
        from: Timestamp,
    },
    /// An event of one lease without a lease, or the other way round.
    WrongSubject,
    /// What it says was before is not what the entries before left.
    Discontinuous {
        /// What they left.
        generation: Generation,
        /// What they left.
        holder: Option<HolderId>,
    },
    /// The generation fell.
    GenerationFell,
    /// A granted generation is not above all before it.
    NotNew {
        /// What it must be above.
        above: Generation,
    },
    /// A tenure was granted before the one before it was over.
    Overlap {
        /// When that was over; `None` if it was not.
        free_from: Option<Timestamp>,
    },
    /// `held_from` and `held_until` are not those of the tenure that was.
    WrongTenure,
    /// Whether there is a holder does not fit what happened.
    WrongHolder,
    /// The head that the database keeps is not the last entry.
    WrongHead {
        /// Where the head says that the log ends.
        seq: u64,
    },
    /// The lease table says something else.
    Table {
        /// Of which lease.
        lease: LeaseName,
        /// What the log says, and what the table.
        what: String,
    },
    /// An export ends without its trailer.
    Cut,
    /// An export's trailer does not fit what came before it.
    WrongTrailer(String),
    /// A checkpoint is not signed as it says, or by somebody else.
    Signature(String),
    /// A checkpoint is ahead of the log.
    Behind {
        /// Where the checkpoint saw the log end.
        seq: u64,
    },
    /// The log has another entry where a checkpoint saw one.
    Replaced,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = |holder: &Option<HolderId>| match holder {
            Some(holder) => format!("`{holder}`"),
            None => "nobody".into(),
        };
        match self {
            Self::Edited { was: None } => f.write_str("its hash is not that of its fields"),
            Self::Edited { was: Some(was) } => {
                write!(f, "it was entry {was} when its hash was made")
            }
            Self::Unreadable(why) => {
                write!(f, "it is not an entry of the log that can be read: {why}")
            }
            Self::Stopped(why) => {
                write!(
                    f,
                    "reading stopped here, what follows was not looked at: {why}"
                )
            }
            Self::Unchained => f.write_str("its prev_hash is not the hash of the entry before it"),
            Self::Missing { from, to } if from == to => write!(f, "entry {from} is missing"),
            Self::Missing { from, to } => write!(f, "entries {from} to {to} are missing"),
            Self::OutOfOrder { after } => write!(f, "it comes after entry {after}"),
            Self::BeginningMissing => f.write_str(
                "the entries before it are missing, and no `archived` entry says where they are",
            ),
            Self::TimeFell { from } => {
                write!(f, "its time is before that of the entry before it, {from}")
            }
            Self::WrongSubject => f.write_str("its event does not fit its lease"),
            Self::Discontinuous { generation, holder } => write!(
                f,
                "the entries before it left generation {generation}, held by {}, \
                 and it says something else was before",
                who(holder)
            ),
            Self::GenerationFell => f.write_str("the generation falls"),
            Self::NotNew { above } => write!(f, "the granted generation is not above {above}"),
            Self::Overlap { free_from: None } => {
                f.write_str("it grants a lease that was held and had not lapsed")
            }
            Self::Overlap {
                free_from: Some(at),
            } => write!(f, "it grants a lease that was held until {at}"),
            Self::WrongTenure => {
                f.write_str("held_from and held_until are not those of the tenure before it")
            }
            Self::WrongHolder => f.write_str("its holder does not fit its event"),
            Self::WrongHead { seq } => {
                write!(
                    f,
                    "the database's own mark says that the log ends with entry {seq}"
                )
            }
            Self::Table { lease, what } => {
                write!(f, "the lease table differs at `{lease}`: {what}")
            }
            Self::Cut => f.write_str("there is no trailer after it: the export is not whole"),
            Self::WrongTrailer(what) => write!(f, "the trailer does not fit: {what}"),
            Self::Signature(what) => write!(f, "the checkpoint's signature is of no use: {what}"),
            Self::Behind { seq } => {
                write!(
                    f,
                    "a checkpoint saw entry {seq}, and the log ends before it"
                )
            }
            Self::Replaced => f.write_str("a checkpoint saw another entry in this place"),
        }
    }
}

impl Fault {
    /// What could have caused it.
    pub fn cause(&self) -> &'static str {
        match self {
            Self::Edited { was: None } => {
                "it was changed after it was written, or written by something else than Baton"
            }
            Self::Edited { was: Some(_) } => {
                "entries were moved, or others inserted or deleted and the rest renumbered"
            }
            Self::Unreadable(_) => "it was changed after it was written, or the disk is damaged",
            Self::Stopped(_) => {
                "the file or its disk is damaged, or a copy was made while it was written to; \
                 a backup or an export may be whole"
            }
            Self::Unchained => {
                "the entry before it was replaced or inserted, or entries between were deleted"
            }
            Self::Missing { .. } => {
                "they were deleted; in a file, lines were lost or parts are given in another order"
            }
            Self::OutOfOrder { .. } => "entries were swapped or inserted twice",
            Self::BeginningMissing => {
                "the oldest entries were deleted; in a file, it is only a part of the log"
            }
            Self::TimeFell { .. } => "times were changed, or entries moved",
            Self::WrongSubject
            | Self::Discontinuous { .. }
            | Self::GenerationFell
            | Self::NotNew { .. }
            | Self::Overlap { .. }
            | Self::WrongTenure
            | Self::WrongHolder => {
                "entries of this lease were forged or left out and the chain made anew; \
                 or a bug in Baton"
            }
            Self::WrongHead { .. } => {
                "the newest entries were deleted, or entries were added past Baton"
            }
            Self::Table { .. } => {
                "the table was changed past Baton, or entries were deleted or forged"
            }
            Self::Cut => "the export was interrupted, or its end was cut off",
            Self::WrongTrailer(_) => "lines were added, lost or changed after the export",
            Self::Signature(_) => {
                "the checkpoint was changed, or comes from somebody else than you trust"
            }
            Self::Behind { .. } => {
                "the newest entries were deleted, or the database is an older copy"
            }
            Self::Replaced => "the log was written anew from there, or from before, on",
        }
    }
}

impl From<&Finding> for Found {
    fn from(finding: &Finding) -> Self {
        Self {
            seq: finding.seq,
            what: finding.fault.to_string(),
            cause: finding.fault.cause().to_owned(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(seq) = self.seq {
            write!(f, "seq {seq}: ")?;
        }
        write!(f, "{}. Possible cause: {}.", self.fault, self.fault.cause())
    }
}
