//! API tokens, which programs send.

use std::time::Duration;

use baton_client::{AccessEvent, LeaseName, Role, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::access_log::Draft;

use super::{
    People, PeopleError,
    backend::{Change, TokenRow},
    check_name,
    secrets::{Secret, new_id},
    storable,
    users::role,
};

/// The most prefixes that one token can have.
const PREFIXES_MAX: usize = 100;
/// The longest prefix: as long as a lease name.
const PREFIX_CHARS_MAX: usize = 200;
/// Longer lives than this are as good as endless.
const LIFE_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Token {
    /// Who it is in the log; a rotated token keeps it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// What the names of leases that it may change start with; none: any.
    pub prefixes: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it got its present secret, if not the first.
    pub rotated_at: Option<Timestamp>,
    /// When it stops working by itself.
    pub expires_at: Option<Timestamp>,
    /// Since when it does not work any more.
    pub revoked_at: Option<Timestamp>,
    /// When it was used last, to a minute or so.
    pub last_used_at: Option<Timestamp>,
}

/// A token to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What to call it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// What the names of leases that it may change start with; none: any.
    pub prefixes: Vec<String>,
    /// How long it works; `None`: until revoked.
    pub expires_in: Option<Duration>,
}

impl People {
    /// Makes a token. Its secret is returned this once and stored nowhere.
    ///
    /// # Errors
    /// The name is taken, or name, prefixes or life cannot be.
    pub async fn create_token(&self, new: NewToken) -> Result<(Token, Secret), PeopleError> {
        check(&new)?;
        let secret = Secret::token();
        let mut change = self.backend().change().await?;
        if change.token(&new.name).await?.is_some() {
            return Err(PeopleError::Taken(new.name));
        }
        let row = new_token(new, &secret, change.now());
        change.insert_token(&row).await?;
        self.finish(change, &[self.created(&row)?]).await?;
        Ok((row.try_into()?, secret))
    }

    /// Gives a token another secret; it stays the same token, with its tenures.
    /// The old secret stops working within a second.
    ///
    /// # Errors
    /// There is no such token, or it is revoked.
    pub async fn rotate_token(&self, name: &str) -> Result<Secret, PeopleError> {
        let secret = Secret::token();
        let mut change = self.backend().change().await?;
        let mut token = existing(change.as_mut(), name).await?;
        if token.revoked_at.is_some() {
            return Err(PeopleError::Revoked(name.into()));
        }
        token.digest = secret.digest().to_vec();
        token.rotated_at = Some(change.now());
        change.update_token(&token).await?;
        let entry = self.entry(AccessEvent::TokenRotated, name, json!({}));
        self.finish(change, &[entry]).await?;
        Ok(secret)
    }

    /// Ends a token for good, on every server within a second.
    ///
    /// # Errors
    /// There is no such token.
    pub async fn revoke_token(&self, name: &str) -> Result<Token, PeopleError> {
        let mut change = self.backend().change().await?;
        let mut token = existing(change.as_mut(), name).await?;
        token.revoked_at = token.revoked_at.or(Some(change.now()));
        change.update_token(&token).await?;
        let entry = self.entry(AccessEvent::TokenRevoked, name, json!({}));
        self.finish(change, &[entry]).await?;
        token.try_into()
    }

    /// The access log's entry of a new token.
    pub(super) fn created(&self, row: &TokenRow) -> Result<Draft, PeopleError> {
        let details = json!({
            "expires_at": row.expires_at.map(Timestamp::from_micros),
            // There are no blanks in them.
            "prefixes": prefixes(&row.prefixes)?.join(" "),
            "role": row.role,
        });
        Ok(self.entry(AccessEvent::TokenCreated, &row.name, details))
    }

    /// All tokens by name, revoked ones too.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn list_tokens(&self) -> Result<Vec<Token>, PeopleError> {
        let tokens = self.backend().tokens().await?;
        tokens.into_iter().map(Token::try_from).collect()
    }
}

async fn existing(change: &mut dyn Change, name: &str) -> Result<TokenRow, PeopleError> {
    let token = match storable(name) {
        true => change.token(name).await?,
        false => None,
    };
    token.ok_or_else(|| PeopleError::UnknownToken(name.into()))
}

fn check(new: &NewToken) -> Result<(), PeopleError> {
    let invalid = |why: String| Err(PeopleError::Invalid(why));
    check_name(&new.name)?;
    if new.prefixes.len() > PREFIXES_MAX {
        let why = format!("a token has at most {PREFIXES_MAX} prefixes");
        return Err(PeopleError::Prefix(why));
    }
    for prefix in &new.prefixes {
        // An empty one would lift the limit that a prefix is there to set.
        if prefix.is_empty() || prefix.len() > PREFIX_CHARS_MAX || !LeaseName::allows(prefix) {
            return Err(PeopleError::Prefix(format!(
                "`{prefix}` is no prefix: it has 1 to {PREFIX_CHARS_MAX} of the characters \
                 of lease names, A–Z a–z 0–9 . _ : @ -"
            )));
        }
    }
    if new
        .expires_in
        .is_some_and(|life| life.is_zero() || life > LIFE_MAX)
    {
        return invalid("a token works for more than no time and at most 100 years".into());
    }
    Ok(())
}

pub(super) fn new_token(new: NewToken, secret: &Secret, now: i64) -> TokenRow {
    let micros = |life: Duration| life.as_micros() as i64;
    TokenRow {
        id: new_id(),
        name: new.name,
        digest: secret.digest().to_vec(),
        role: new.role.as_str().into(),
        prefixes: serde_json::json!(new.prefixes).to_string(),
        created_at: now,
        rotated_at: None,
        expires_at: new.expires_in.map(|life| now + micros(life)),
        revoked_at: None,
        last_used_at: None,
    }
}

/// The prefixes in a row.
pub(super) fn prefixes(text: &str) -> Result<Vec<String>, PeopleError> {
    serde_json::from_str(text)
        .map_err(|error| PeopleError::Store(sqlx::Error::Decode(error.into())))
}

impl TryFrom<TokenRow> for Token {
    type Error = PeopleError;

    fn try_from(row: TokenRow) -> Result<Self, PeopleError> {
        Ok(Self {
            role: role(&row.role)?,
            prefixes: prefixes(&row.prefixes)?,
            name: row.name,
            created_at: Timestamp::from_micros(row.created_at),
            rotated_at: row.rotated_at.map(Timestamp::from_micros),
            expires_at: row.expires_at.map(Timestamp::from_micros),
            revoked_at: row.revoked_at.map(Timestamp::from_micros),
            last_used_at: row.last_used_at.map(Timestamp::from_micros),
        })
    }
}
