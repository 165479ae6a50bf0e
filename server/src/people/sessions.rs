//! Signing in and out, and recognising a session.

use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

use baton_client::{AccessEvent, Actor};
use serde_json::json;

use crate::access_log::Draft;

use super::{
    Caller, People, PeopleError,
    backend::{SessionRow, UserRow},
    commit,
    passwords::Crowded,
    secrets::Secret,
    storable,
    users::{existing, role},
};

/// How long a session lasts without being used.
pub const SESSION_IDLE_MAX: Duration = Duration::from_secs(8 * 60 * 60);
/// How long a session lasts at most.
pub const SESSION_AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Uses are noted at most this often.
const TOUCH_EVERY: Duration = Duration::from_secs(60);
/// When to come back after a crowd.
const CROWD_RETRY: Duration = Duration::from_secs(5);

/// A new session.
#[derive(Debug)]
pub struct SignIn {
    /// What the cookie holds.
    pub secret: Secret,
    /// Who signed in.
    pub caller: Caller,
}

/// Why somebody is not signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// There is no such user, or they are disabled, or the password is wrong: it
    /// does not say which.
    #[error("name or password is wrong")]
    Credentials,
    /// There were too many attempts.
    #[error("too many attempts; try again in {retry_after_s} s")]
    RateLimited {
        /// When to try again.
        retry_after_s: u64,
    },
    /// The database cannot be used.
    #[error("the database cannot be used")]
    Store(#[source] PeopleError),
}

impl People {
    /// Signs somebody in who asks from `address`.
    ///
    /// # Errors
    /// They may not, or not now.
    pub async fn sign_in(
        &self,
        name: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<SignIn, SignInError> {
        let user = self.recognise(name, password, address).await?;
        let secret = Secret::session();
        let mut change = self.backend().change().await?;
        // While the password was checked, it may have been changed.
        let mut now_user = existing(change.as_mut(), name).await?;
        if now_user.password_hash != user.password_hash || now_user.disabled_at.is_some() {
            return Err(SignInError::Credentials);
        }
        let now = change.now();
        now_user.signed_in_at = Some(now);
        change.update_user(&now_user).await?;
        change
            .delete_stale_sessions(now - micros(SESSION_IDLE_MAX))
            .await?;
        change
            .insert_session(&SessionRow {
                digest: secret.digest(),
                user_id: now_user.id.clone(),
                created_at: now,
                expires_at: now + micros(SESSION_AGE_MAX),
            })
            .await?;
        let entry = Draft {
            actor: Some(Actor::User(now_user.name.clone())),
            address: Some(address.to_canonical().to_string()),
            ..self.entry(
                AccessEvent::SignedIn,
                name,
                json!({ "role": now_user.role }),
            )
        };
        change.write_down(&[entry]).await?;
        // A session more takes nothing from anybody: it is not counted.
        commit(change).await?;
        let role = role(&now_user.role)?;
        Ok(SignIn {
            secret,
            caller: Caller::user(now_user.id, now_user.name, role),
        })
    }

    /// Whether this is the user's password, asked from `address` and limited as a
    /// sign-in is. For people who are signed in and about to change it.
    ///
    /// # Errors
    /// It is not, or there were too many attempts.
    pub async fn check_password(
        &self,
        name: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<(), SignInError> {
        self.recognise(name, password, address).await.map(drop)
    }

    async fn recognise(
        &self,
        name: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<UserRow, SignInError> {
        let attempts = &self.shared.attempts;
        if let Err(wait) = attempts.begin(name, address, Instant::now()) {
            // Whether there is such an account is not looked up for this.
            self.access_log().sign_in_failed(address, None);
            return Err(limited(wait));
        }
        let found = match storable(name) {
            true => self.backend().user(name).await,
            false => Ok(None),
        };
        let known = matches!(found, Ok(Some(_)));
        let user = match found {
            Ok(found) => self.user_with(found, password).await,
            Err(error) => Err(error.into()),
        };
        match &user {
            Ok(_) => attempts.succeeded(name, address),
            Err(SignInError::Credentials) => {
                let known = known.then_some(name);
                self.access_log().sign_in_failed(address, known);
            }
            Err(_) => attempts.not_decided(name, address),
        }
        user
    }

    /// The user, if enabled and if this is their password.
    async fn user_with(
        &self,
        user: Option<UserRow>,
        password: &str,
    ) -> Result<UserRow, SignInError> {
        let user = user.filter(|user| user.disabled_at.is_none());
        let stored = user.as_ref().map(|user| user.password_hash.clone());
        match self.shared.passwords.verify(password, stored).await {
            Ok(true) => user.ok_or(SignInError::Credentials),
            Ok(false) => Err(SignInError::Credentials),
            Err(Crowded) => Err(limited(CROWD_RETRY)),
        }
    }

    /// Whose session this is, while it lasts. Notes that it was used.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn session(&self, secret: &Secret) -> Result<Option<Caller>, PeopleError> {
        self.look_up(secret, true).await
    }

    /// As [`Self::session`], for who only looks whether it still lasts: a page
    /// that is left open does not count as a use.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn session_lasts(&self, secret: &Secret) -> Result<Option<Caller>, PeopleError> {
        self.look_up(secret, false).await
    }

    async fn look_up(&self, secret: &Secret, used: bool) -> Result<Option<Caller>, PeopleError> {
        let digest = secret.digest();
        let Some(session) = self.backend().session(&digest).await? else {
            return Ok(None);
        };
        let idle = session.now - session.last_seen_at;
        if session.disabled_at.is_some()
            || session.now >= session.expires_at
            || idle >= micros(SESSION_IDLE_MAX)
        {
            return Ok(None);
        }
        if used && idle >= micros(TOUCH_EVERY) {
            let touched = self.backend().touch_session(&digest, session.now).await;
            if let Err(error) = touched {
                // The session holds all the same; the next use notes it.
                tracing::warn!(%error, "the use of a session could not be noted");
            }
        }
        let role = role(&session.role)?;
        Ok(Some(Caller::user(session.user_id, session.name, role)))
    }

    /// Ends a session.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn sign_out(&self, secret: &Secret) -> Result<(), PeopleError> {
        let digest = secret.digest();
        let Some(session) = self.backend().session(&digest).await? else {
            return Ok(());
        };
        let mut change = self.backend().change().await?;
        change.delete_session(&digest).await?;
        let entry = Draft {
            actor: Some(Actor::User(session.name.clone())),
            ..self.entry(AccessEvent::SignedOut, &session.name, json!({}))
        };
        self.finish(change, &[entry]).await
    }

    /// Ends all sessions of a user.
    ///
    /// # Errors
    /// There is no such user.
    pub async fn sign_out_everywhere(&self, name: &str) -> Result<(), PeopleError> {
        let mut change = self.backend().change().await?;
        let user = existing(change.as_mut(), name).await?;
        change.delete_sessions(&user.id, None).await?;
        let entry = self.entry(AccessEvent::UserSignedOut, name, json!({}));
        self.finish(change, &[entry]).await
    }
}

fn micros(duration: Duration) -> i64 {
    duration.as_micros() as i64
}

fn limited(wait: Duration) -> SignInError {
    SignInError::RateLimited {
        // Rounded up: coming back that early must not be too early.
        retry_after_s: wait.as_millis().div_ceil(1_000).max(1) as u64,
    }
}

impl From<PeopleError> for SignInError {
    fn from(error: PeopleError) -> Self {
        match error {
            PeopleError::UnknownUser(_) => Self::Credentials,
            other => Self::Store(other),
        }
    }
}

impl From<sqlx::Error> for SignInError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}
