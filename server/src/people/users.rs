//! People who sign in on the page.

use baton_client::{AccessEvent, Role, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::access_log::Draft;

use super::{
    People, PeopleError,
    backend::{Change, UserRow},
    check_name,
    secrets::{Secret, new_id},
    storable,
};

/// A person, as others may see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    /// What they sign in with.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// When the user was made.
    pub created_at: Timestamp,
    /// When they signed in last.
    pub signed_in_at: Option<Timestamp>,
    /// Since when they may not sign in.
    pub disabled_at: Option<Timestamp>,
}

impl People {
    /// Makes a user.
    ///
    /// # Errors
    /// The name is taken, or name or password cannot be.
    pub async fn create_user(
        &self,
        name: &str,
        role: Role,
        password: &str,
    ) -> Result<User, PeopleError> {
        check_name(name)?;
        let password_hash = self.shared.passwords.hash(password).await?;
        let mut change = self.backend().change().await?;
        if change.user(name).await?.is_some() {
            return Err(PeopleError::Taken(name.into()));
        }
        let user = new_user(name, role, password_hash, change.now());
        change.insert_user(&user).await?;
        let entry = self.entry(AccessEvent::UserCreated, name, json!({ "role": role }));
        self.finish(change, &[entry]).await?;
        user.try_into()
    }

    /// Makes a user with a made-up password, returned this once.
    ///
    /// # Errors
    /// As [`Self::create_user`].
    pub async fn make_user(&self, name: &str, role: Role) -> Result<(User, Secret), PeopleError> {
        let secret = Secret::password();
        let user = self.create_user(name, role, secret.reveal()).await?;
        Ok((user, secret))
    }

    /// Gives a user a made-up password, returned this once, and ends all their
    /// sessions.
    ///
    /// # Errors
    /// There is no such user.
    pub async fn make_password(&self, name: &str) -> Result<Secret, PeopleError> {
        let secret = Secret::password();
        self.set_password(name, secret.reveal()).await?;
        Ok(secret)
    }

    /// Gives a user another password, and ends all their sessions.
    ///
    /// # Errors
    /// There is no such user, or the password cannot be.
    pub async fn set_password(&self, name: &str, password: &str) -> Result<(), PeopleError> {
        self.replace_password(name, password, None).await
    }

    /// As [`Self::set_password`], but for one session: that of the person who
    /// changes their own.
    ///
    /// # Errors
    /// There is no such user, or the password cannot be.
    pub async fn set_own_password(
        &self,
        name: &str,
        password: &str,
        session: &Secret,
    ) -> Result<(), PeopleError> {
        self.replace_password(name, password, Some(session)).await
    }

    async fn replace_password(
        &self,
        name: &str,
        password: &str,
        but: Option<&Secret>,
    ) -> Result<(), PeopleError> {
        let password_hash = self.shared.passwords.hash(password).await?;
        let mut change = self.backend().change().await?;
        let mut user = existing(change.as_mut(), name).await?;
        user.password_hash = password_hash;
        change.update_user(&user).await?;
        let but = but.map(Secret::digest);
        change.delete_sessions(&user.id, but.as_ref()).await?;
        let own = but.is_some();
        let entry = self.entry(AccessEvent::UserPassword, name, json!({ "own": own }));
        self.finish(change, &[entry]).await
    }

    /// Gives a user another role; their sessions have it at once.
    ///
    /// # Errors
    /// There is no such user, or nobody could administer any more.
    pub async fn set_role(&self, name: &str, role: Role) -> Result<User, PeopleError> {
        let mut change = self.backend().change().await?;
        let mut user = existing(change.as_mut(), name).await?;
        let details = json!({ "from": user.role, "role": role });
        user.role = role.as_str().into();
        change.update_user(&user).await?;
        let entry = self.entry(AccessEvent::UserRole, name, details);
        self.finish_with_admin(change, name, entry).await?;
        user.try_into()
    }

    /// Lets a user sign in no more, and ends all their sessions.
    ///
    /// # Errors
    /// There is no such user, or nobody could administer any more.
    pub async fn disable(&self, name: &str) -> Result<User, PeopleError> {
        let mut change = self.backend().change().await?;
        let mut user = existing(change.as_mut(), name).await?;
        user.disabled_at = user.disabled_at.or(Some(change.now()));
        change.update_user(&user).await?;
        change.delete_sessions(&user.id, None).await?;
        let entry = self.entry(AccessEvent::UserDisabled, name, json!({}));
        self.finish_with_admin(change, name, entry).await?;
        user.try_into()
    }

    /// Lets a disabled user sign in again.
    ///
    /// # Errors
    /// There is no such user.
    pub async fn enable(&self, name: &str) -> Result<User, PeopleError> {
        let mut change = self.backend().change().await?;
        let mut user = existing(change.as_mut(), name).await?;
        user.disabled_at = None;
        change.update_user(&user).await?;
        let entry = self.entry(AccessEvent::UserEnabled, name, json!({}));
        self.finish(change, &[entry]).await?;
        user.try_into()
    }

    /// All users, by name.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn list_users(&self) -> Result<Vec<User>, PeopleError> {
        let users = self.backend().users().await?;
        users.into_iter().map(User::try_from).collect()
    }

    /// As [`Self::finish`], if there still is an admin who can sign in.
    async fn finish_with_admin(
        &self,
        mut change: Box<dyn Change>,
        name: &str,
        entry: Draft,
    ) -> Result<(), PeopleError> {
        if change.active_admins().await? == 0 {
            return Err(PeopleError::LastAdmin(name.into()));
        }
        self.finish(change, &[entry]).await
    }
}

pub(super) fn new_user(name: &str, role: Role, password_hash: String, now: i64) -> UserRow {
    UserRow {
        id: new_id(),
        name: name.into(),
        password_hash,
        role: role.as_str().into(),
        created_at: now,
        signed_in_at: None,
        disabled_at: None,
    }
}

pub(super) async fn existing(change: &mut dyn Change, name: &str) -> Result<UserRow, PeopleError> {
    let user = match storable(name) {
        true => change.user(name).await?,
        false => None,
    };
    user.ok_or_else(|| PeopleError::UnknownUser(name.into()))
}

/// The role in a row, which the database checks too.
pub(super) fn role(text: &str) -> Result<Role, PeopleError> {
    text.parse()
        .map_err(|why: String| PeopleError::Store(sqlx::Error::Decode(why.into())))
}

impl TryFrom<UserRow> for User {
    type Error = PeopleError;

    fn try_from(row: UserRow) -> Result<Self, PeopleError> {
        Ok(Self {
            role: role(&row.role)?,
            name: row.name,
            created_at: Timestamp::from_micros(row.created_at),
            signed_in_at: row.signed_in_at.map(Timestamp::from_micros),
            disabled_at: row.disabled_at.map(Timestamp::from_micros),
        })
    }
}
