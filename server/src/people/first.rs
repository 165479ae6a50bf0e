//! The first start: somebody has to be able to sign in.

use baton_client::{AccessEvent, Role};
use serde_json::json;

use super::{
    NewToken, People, PeopleError, passwords,
    secrets::{Secret, TOKEN_CHARS_MIN, TOKEN_PREFIX, is_token},
    tokens::new_token,
    users::new_user,
};

/// The user of the first start.
const ADMIN: &str = "admin";
/// The token of the first start.
const HOLDER: &str = "holder";

/// What a first start made, to be shown once. What somebody set themselves is not
/// repeated.
#[derive(Debug)]
pub struct FirstStart {
    /// The password of `admin`, if it was made up.
    pub admin_password: Option<Secret>,
    /// The token `holder`, if it was made up.
    pub holder_token: Option<Secret>,
}

impl People {
    /// On a database without users, makes the admin `admin` and the token
    /// `holder`, with these secrets or made-up ones. Of several servers that
    /// start at once, one does it.
    ///
    /// # Errors
    /// A secret that was set cannot be one, or the database cannot be used.
    pub async fn ensure_first_people(
        &self,
        admin_password: Option<String>,
        holder_token: Option<String>,
    ) -> Result<Option<FirstStart>, PeopleError> {
        check(admin_password.as_deref(), holder_token.as_deref())?;
        // Hashing takes a while; it is not done on every start, nor while the
        // counter is held.
        if !self.backend().users().await?.is_empty() {
            return Ok(None);
        }
        let made_password = admin_password.is_none().then(Secret::password);
        let made_token = holder_token.is_none().then(Secret::token);
        let password = admin_password.map(Secret::from).or(made_password.clone());
        let token = holder_token.map(Secret::from).or(made_token.clone());
        let (Some(password), Some(token)) = (password, token) else {
            unreachable!("what was not set was made up");
        };
        let password_hash = self.shared.passwords.hash(password.reveal()).await?;

        let mut change = self.backend().change().await?;
        if change.any_users().await? {
            return Ok(None);
        }
        let now = change.now();
        let admin = new_user(ADMIN, Role::Admin, password_hash, now);
        change.insert_user(&admin).await?;
        let mut entries = vec![self.entry(
            AccessEvent::UserCreated,
            ADMIN,
            json!({ "role": Role::Admin }),
        )];
        let token_is_new = change.token(HOLDER).await?.is_none();
        if token_is_new {
            let new = NewToken {
                name: HOLDER.into(),
                role: Role::Holder,
                prefixes: Vec::new(),
                expires_in: None,
            };
            let row = new_token(new, &token, now);
            change.insert_token(&row).await?;
            entries.push(self.created(&row)?);
        }
        self.finish(change, &entries).await?;
        Ok(Some(FirstStart {
            admin_password: made_password,
            holder_token: made_token.filter(|_| token_is_new),
        }))
    }
}

fn check(admin_password: Option<&str>, holder_token: Option<&str>) -> Result<(), PeopleError> {
    if let Some(password) = admin_password {
        passwords::check(password)
            .map_err(|why| PeopleError::Invalid(format!("BATON_ADMIN_PASSWORD: {why}")))?;
    }
    if holder_token.is_some_and(|token| !is_token(token)) {
        return Err(PeopleError::Invalid(format!(
            "BATON_HOLDER_TOKEN: a token is {TOKEN_PREFIX} and then at least {TOKEN_CHARS_MIN} \
             of A–Z a–z 0–9 _ - (openssl rand -hex 16 makes 32)"
        )));
    }
    Ok(())
}
