//! Admin pages for users and tokens, and everybody's own password.

use std::time::Duration;

use axum::response::Response;
use baton_app::plain::{
    Filled, Kind, Known, edit_page, list_page, made_page, new_page, password_page,
};
use baton_client::{Code, Role, Timestamp};

use super::{Page, see_other};
use crate::{
    http::{
        answer::{Answer, Oops},
        call::Call,
        pages::wants_page,
    },
    people::{NewToken, PeopleError, Secret, SignInError},
};

/// `GET /users` and `GET /tokens`.
pub async fn list(call: Call, kind: Kind) -> Answer {
    let now = call.site.store().now().await?;
    let known = known(&call, kind).await?;
    let done = call.prefilled().get("done").to_owned();
    let page = Page::of(&call, kind.title()).true_at(now);
    Ok(page.show(|| list_page(kind, known, now, &done)))
}

/// `GET /users/new` and `GET /tokens/new`.
pub async fn ask_new(call: Call, kind: Kind) -> Answer {
    let filled = call.prefilled();
    Ok(Page::of(&call, kind.title()).show(|| new_page(kind, &filled)))
}

/// `POST /users/new` and `POST /tokens/new`.
pub async fn make(mut call: Call, kind: Kind) -> Answer {
    let filled = call.form().await?;
    let made = match kind {
        Kind::Users => make_user(&call, &filled).await,
        Kind::Tokens => make_token(&call, &filled).await,
    };
    match made {
        Ok(secret) => Ok(show_secret(&call, kind, filled.get("name").trim(), &secret)),
        Err(oops) => again(&call, oops, filled, |call, filled, status| {
            Page::of(call, kind.title())
                .status(status)
                .show(|| new_page(kind, filled))
        }),
    }
}

async fn make_user(call: &Call, filled: &Filled) -> Result<Secret, Oops> {
    let role = role(filled)?;
    let made = call
        .people()
        .make_user(filled.get("name").trim(), role)
        .await;
    made.map(|(_, secret)| secret)
        .map_err(|error| told(error, "name"))
}

async fn make_token(call: &Call, filled: &Filled) -> Result<Secret, Oops> {
    let expires_in = match filled.said("expires_in_s") {
        None => None,
        Some(text) => {
            let seconds = text.parse().map_err(|_| {
                Oops::field(
                    "expires_in_s",
                    format!("is a whole number of seconds, not `{text}`"),
                )
            })?;
            Some(Duration::from_secs(seconds))
        }
    };
    let prefixes = filled.get("prefixes").split_whitespace();
    let new = NewToken {
        name: filled.get("name").trim().to_owned(),
        role: role(filled)?,
        prefixes: prefixes.map(ToOwned::to_owned).collect(),
        expires_in,
    };
    let made = call.people().create_token(new).await;
    made.map(|(_, secret)| secret).map_err(|error| {
        let field = match &error {
            PeopleError::Prefix(_) => "prefixes",
            _ => "name",
        };
        told(error, field)
    })
}

/// `GET /users/edit` and `GET /tokens/edit`.
pub async fn ask_edit(call: Call, kind: Kind) -> Answer {
    let filled = call.prefilled();
    edit(&call, kind, filled, 200).await
}

async fn edit(call: &Call, kind: Kind, filled: Filled, status: u16) -> Answer {
    let name = filled.get("name");
    let found = known(call, kind)
        .await?
        .into_iter()
        .find(|one| one.name == name);
    let Some(one) = found else {
        let what = kind.title().to_lowercase();
        return Err(Oops::new(
            Code::NotFound,
            format!("there is no `{name}` among the {what}"),
        ));
    };
    let now = call.site.store().now().await?;
    let page = Page::of(call, format!("{} · {}", one.name, kind.title()));
    Ok(page
        .true_at(now)
        .status(status)
        .show(|| edit_page(kind, &one, &filled, now)))
}

/// `POST /users/edit` and `POST /tokens/edit`.
pub async fn change(mut call: Call, kind: Kind) -> Answer {
    let filled = call.form().await?;
    match changed(&call, kind, &filled).await {
        Ok(Changed::Secret(secret)) => Ok(show_secret(&call, kind, filled.get("name"), &secret)),
        Ok(Changed::Done(word)) => Ok(see_other(&format!("{}?done={word}", kind.path()))),
        Err(oops) if oops.0.errors.is_empty() || !wants_page(&call.headers) => Err(oops),
        Err(oops) => {
            let filled = filled.wrong(&oops.0.errors, &[]);
            edit(&call, kind, filled, oops.0.status).await
        }
    }
}

/// What came of a change.
enum Changed {
    /// Something to be shown once.
    Secret(Secret),
    /// Done; the word for it in the list's address.
    Done(&'static str),
}

async fn changed(call: &Call, kind: Kind, filled: &Filled) -> Result<Changed, Oops> {
    let people = call.people();
    let name = filled.get("name");
    let done = match (kind, filled.get("do")) {
        (Kind::Users, "role") => people
            .set_role(name, role(filled)?)
            .await
            .map(|_| Changed::Done("role")),
        (Kind::Users, "password") => people.make_password(name).await.map(Changed::Secret),
        (Kind::Users, "sign-out") => {
            let out = people.sign_out_everywhere(name).await;
            out.map(|()| Changed::Done("signed-out"))
        }
        (Kind::Users, "disable") => people
            .disable(name)
            .await
            .map(|_| Changed::Done("disabled")),
        (Kind::Users, "enable") => people.enable(name).await.map(|_| Changed::Done("enabled")),
        (Kind::Tokens, "rotate") => people.rotate_token(name).await.map(Changed::Secret),
        (Kind::Tokens, "revoke") => people
            .revoke_token(name)
            .await
            .map(|_| Changed::Done("revoked")),
        (_, other) => {
            return Err(Oops::field(
                "do",
                format!("`{other}` is nothing that can be done here"),
            ));
        }
    };
    done.map_err(|error| told(error, "do"))
}

/// `GET /password`.
pub async fn ask_password(call: Call) -> Answer {
    let done = call.prefilled().get("done") == "1";
    Ok(Page::of(&call, "Change your password").show(|| password_page(&Filled::default(), done)))
}

/// `POST /password`.
pub async fn set_password(mut call: Call) -> Answer {
    let filled = call.form().await?;
    match own_password(&call, &filled).await {
        Ok(()) => Ok(see_other("/password?done=1")),
        Err(oops) => again(&call, oops, filled, |call, filled, status| {
            Page::of(call, "Change your password")
                .status(status)
                .show(|| password_page(filled, false))
        }),
    }
}

async fn own_password(call: &Call, filled: &Filled) -> Result<(), Oops> {
    let people = call.people();
    let name = call.caller.name().unwrap_or_default();
    if filled.get("new_password") != filled.get("again") {
        return Err(Oops::field("again", "is not the same as the new password"));
    }
    let right = people
        .check_password(name, filled.get("password"), call.address)
        .await;
    right.map_err(|error| match error {
        SignInError::Credentials => Oops::field("password", "is not your password"),
        SignInError::RateLimited { .. } => Oops::field("password", error.to_string()),
        error => error.into(),
    })?;
    // The table lets only sessions get here, so there is one.
    let session = call
        .site
        .session_secret(&call.headers)
        .unwrap_or_else(|| String::new().into());
    let set = people
        .set_own_password(name, filled.get("new_password"), &session)
        .await;
    set.map_err(|error| told(error, "new_password"))
}

/// The page again, with what is wrong; for programs, and for what no field is to
/// blame for, the error itself.
fn again(
    call: &Call,
    oops: Oops,
    filled: Filled,
    page: impl FnOnce(&Call, &Filled, u16) -> Response,
) -> Answer {
    if oops.0.errors.is_empty() || !wants_page(&call.headers) {
        return Err(oops);
    }
    let filled = filled.wrong(&oops.0.errors, &[]);
    Ok(page(call, &filled, oops.0.status))
}

fn show_secret(call: &Call, kind: Kind, name: &str, secret: &Secret) -> Response {
    let secret = secret.reveal().to_owned();
    Page::of(call, kind.title()).show(|| made_page(kind, name, secret))
}

fn role(filled: &Filled) -> Result<Role, Oops> {
    let role = filled.get("role").parse();
    role.map_err(|why: String| Oops::field("role", why))
}

/// An error about people, beside the field that it is about.
fn told(error: PeopleError, field: &str) -> Oops {
    match error {
        PeopleError::Store(_) | PeopleError::Unconfirmed(_) | PeopleError::Crowded => error.into(),
        PeopleError::UnknownUser(_) | PeopleError::UnknownToken(_) => {
            Oops::new(Code::NotFound, error.to_string())
        }
        error => Oops::field(field, error.to_string()),
    }
}

/// All users, or all tokens: those that work first.
async fn known(call: &Call, kind: Kind) -> Result<Vec<Known>, Oops> {
    let people = call.people();
    let mut known: Vec<Known> = match kind {
        Kind::Users => {
            let own = call.caller.name();
            let users = people.list_users().await?.into_iter();
            users
                .map(|user| Known {
                    own: own == Some(user.name.as_str()),
                    name: user.name,
                    role: user.role,
                    prefixes: Vec::new(),
                    seen_at: user.signed_in_at,
                    expires_at: None,
                    ended_at: user.disabled_at,
                })
                .collect()
        }
        Kind::Tokens => {
            let tokens = people.list_tokens().await?.into_iter();
            tokens
                .map(|token| Known {
                    own: false,
                    name: token.name,
                    role: token.role,
                    prefixes: token.prefixes,
                    seen_at: token.last_used_at,
                    expires_at: token.expires_at,
                    ended_at: token.revoked_at,
                })
                .collect()
        }
    };
    known.sort_by_key(|one: &Known| one.ended_at.unwrap_or(Timestamp::from_micros(0)));
    Ok(known)
}
