//! What `baton user` and `baton token` share: both work straight on the database,
//! also beside a running server, which notices within a second.

use baton_client::Timestamp;

use super::{DatabaseArgs, Exit, Failure, table::clock};
use crate::people::{People, PeopleError};

/// The people of a database that is there already.
pub async fn open(args: &DatabaseArgs) -> Result<People, Failure> {
    Ok(People::new(&args.open().await?))
}

impl From<PeopleError> for Failure {
    fn from(error: PeopleError) -> Self {
        let exit = match error {
            PeopleError::Invalid(_) | PeopleError::Prefix(_) => Exit::Usage,
            PeopleError::Taken(_)
            | PeopleError::UnknownUser(_)
            | PeopleError::UnknownToken(_)
            | PeopleError::Revoked(_)
            | PeopleError::LastAdmin(_) => Exit::Refused,
            PeopleError::Crowded => Exit::Failed,
            PeopleError::Store(_) | PeopleError::Unconfirmed(_) => Exit::Unreachable,
        };
        Self::caused(exit, &error)
    }
}

/// A moment that may not have come yet.
pub fn moment(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".into(), clock)
}
