//! Admin pages for people and for API tokens. What is made is shown once, on the
//! page that made it.

use baton_client::{Role, Timestamp};
use leptos::prelude::*;

use crate::{
    address::query_of,
    moment_view::sentence,
    sentence::{clock, full},
};

use super::{
    Filled,
    form::{Field, long_field, select_field, text_field},
};

/// A user or a token, as the lists show it.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// What the names of leases that it may change start with; none: any.
    pub prefixes: Vec<String>,
    /// When it was last seen: a user's sign-in, a token's use.
    pub seen_at: Option<Timestamp>,
    /// When it stops working by itself.
    pub expires_at: Option<Timestamp>,
    /// Since when it does not work any more.
    pub ended_at: Option<Timestamp>,
    /// It is who looks.
    pub own: bool,
}

/// Which of the two a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// People, who sign in on the page.
    Users,
    /// Programs, which send a token.
    Tokens,
}

impl Kind {
    /// The list's address.
    pub fn path(self) -> &'static str {
        match self {
            Self::Users => "/users",
            Self::Tokens => "/tokens",
        }
    }

    /// The list's name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Users => "Users",
            Self::Tokens => "API tokens",
        }
    }

    fn add(self) -> &'static str {
        match self {
            Self::Users => "Add a user",
            Self::Tokens => "Create a token",
        }
    }

    /// The page about one of them.
    pub fn edit_href(self, name: &str) -> String {
        format!("{}/edit{}", self.path(), query_of([("name", name)]))
    }
}

/// What was just done, by its word in the address.
fn done(word: &str) -> Option<&'static str> {
    Some(match word {
        "role" => "The role was changed. It counts at once, in open sessions too.",
        "disabled" => "The user may sign in no more, and all their sessions have ended.",
        "enabled" => "The user may sign in again.",
        "signed-out" => "All sessions of the user have ended.",
        "revoked" => "The token is revoked. It stops working within a second, for good.",
        _ => return None,
    })
}

/// The list.
pub fn list_page(kind: Kind, known: Vec<Known>, now: Timestamp, word: &str) -> AnyView {
    let done = done(word).map(|text| {
        view! {
            <p class="notice" role="status" data-part="done">
                {text}
            </p>
        }
    });
    let (seen, about) = match kind {
        Kind::Users => (
            "Last sign-in",
            "People sign in on these pages. Sessions end after 8 hours without use, and after 7 days.",
        ),
        Kind::Tokens => (
            "Last used",
            "Programs send a token. A tenure belongs to the token that acquired it, and a rotated token stays the same one.",
        ),
    };
    let rows = known
        .into_iter()
        .map(|known| row(kind, known, now))
        .collect_view();
    view! {
        <main>
            <div class="head">
                <h1>{kind.title()}</h1>
                <a class="button" href=format!("{}/new", kind.path())>
                    {kind.add()}
                </a>
            </div>
            {done}
            <p class="muted">{about}</p>
            <div class="sheet">
                <table class="cards people">
                    <thead>
                        <tr>
                            <th>"Name"</th>
                            <th>"Role"</th>
                            <th>{seen}</th>
                            <th>"Works"</th>
                            <th>
                                <span class="unseen">"Change"</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </main>
    }
    .into_any()
}

fn row(kind: Kind, known: Known, now: Timestamp) -> AnyView {
    let works = sentence(&works(kind, &known, now));
    let seen = known.seen_at.map(|at| full(at).to_string());
    let seen = sentence(seen.as_deref().unwrap_or("never"));
    let prefixes = (!known.prefixes.is_empty()).then(|| {
        let prefixes = known.prefixes.join(" ");
        view! { <span class="says" title=prefixes.clone()>"only " {prefixes.clone()}</span> }
    });
    let own = known
        .own
        .then(|| view! { <span class="says">"this is you"</span> });
    let ended = known.ended_at.is_some();
    view! {
        <tr class:ended=ended data-name=known.name.clone()>
            <th scope="row" class="name">
                <bdi class="lease-name">{known.name.clone()}</bdi>
                {prefixes}
                {own}
            </th>
            <td data-label="Role">{known.role.as_str()}</td>
            <td data-label="Seen">{seen}</td>
            <td class="wide" data-label="Works">{works}</td>
            <td class="change">
                <a
                    class="button quiet"
                    href=kind.edit_href(&known.name)
                    aria-label=format!("Change {}", known.name)
                >
                    "Change"
                </a>
            </td>
        </tr>
    }
    .into_any()
}

fn works(kind: Kind, known: &Known, now: Timestamp) -> String {
    match (known.ended_at, known.expires_at) {
        (Some(at), _) if kind == Kind::Users => format!("disabled {}", full(at)),
        (Some(at), _) => format!("revoked {}", full(at)),
        (None, Some(at)) if at <= now => format!("expired {}", full(at)),
        (None, Some(at)) => format!("until {}", clock(at)),
        (None, None) if kind == Kind::Users => "can sign in".into(),
        (None, None) => "until revoked".into(),
    }
}

/// Why it was not done, above a form.
fn alert(filled: &Filled) -> Option<AnyView> {
    (!filled.errors().is_empty()).then(|| {
        // What stands beside no field of the page is said here.
        let fields = [
            "name",
            "role",
            "prefixes",
            "expires_in_s",
            "password",
            "new_password",
            "again",
        ];
        let errors = filled.errors().iter();
        let others: Vec<String> = errors
            .filter(|error| !fields.contains(&error.field.as_str()))
            .map(|error| error.message.clone())
            .collect();
        let others = others.join("; ");
        view! {
            <p class="problem" role="alert" data-part="problem">
                "Nothing was done. "
                <bdi>{others}</bdi>
            </p>
        }
        .into_any()
    })
}

fn roles(filled: &Filled, first: &str) -> AnyView {
    let roles = [
        (Role::Viewer, "viewer – look, and export"),
        (Role::Holder, "holder – acquire, renew and release"),
        (Role::Operator, "operator – force, ask to step down, pause"),
        (Role::Admin, "admin – users, tokens and protection"),
    ];
    let roles = roles.map(|(role, words)| (role.as_str().to_owned(), words.to_owned()));
    select_field(filled, "role", "Role", &roles, first)
}

fn footer(kind: Kind, button: &'static str, class: &'static str) -> AnyView {
    view! {
        <footer>
            <a class="button" href=kind.path()>
                "Cancel"
            </a>
            <button class=class type="submit">
                {button}
            </button>
        </footer>
    }
    .into_any()
}

/// The page that makes one.
pub fn new_page(kind: Kind, filled: &Filled) -> AnyView {
    let more = match kind {
        Kind::Users => view! {
            {roles(filled, "viewer")}
            <p class="muted small">"A first password is made up, and shown once."</p>
        }
        .into_any(),
        Kind::Tokens => {
            view! { {roles(filled, "holder")} {prefixes(filled)} {life(filled)} }.into_any()
        }
    };
    let name = Field {
        name: "name",
        label: "Name",
        hint: "stands in the history, and is never used again",
        chars_max: 64,
        required: true,
        ..Field::default()
    };
    view! {
        <main class="ask">
            <section class="sheet dialog">
                <h1>{kind.add()}</h1>
                {alert(filled)}
                <form method="post" action=format!("{}/new", kind.path())>
                    {text_field(filled, name)} {more} {footer(kind, kind.add(), "primary")}
                </form>
            </section>
        </main>
    }
    .into_any()
}

fn prefixes(filled: &Filled) -> AnyView {
    long_field(
        filled,
        Field {
            name: "prefixes",
            label: "Only leases whose names start with",
            hint: "optional; one a line, as deploy.",
            ..Field::default()
        },
    )
}

fn life(filled: &Filled) -> AnyView {
    let lives = [
        ("", "until it is revoked"),
        ("86400", "1 day"),
        ("604800", "7 days"),
        ("2592000", "30 days"),
        ("7776000", "90 days"),
        ("31536000", "1 year"),
    ];
    let lives = lives.map(|(s, words)| (s.to_owned(), words.to_owned()));
    select_field(filled, "expires_in_s", "Works for", &lives, "")
}

/// A form of one button within the page about one of them.
fn act(
    kind: Kind,
    name: &str,
    (word, button, class): (&'static str, &'static str, &'static str),
    fields: impl IntoView + 'static,
    about: &'static str,
) -> AnyView {
    view! {
        <form class="part" method="post" action=format!("{}/edit", kind.path())>
            <input type="hidden" name="name" value=name.to_owned() />
            <input type="hidden" name="do" value=word />
            {fields}
            <p class="muted small">{about}</p>
            <button class=class type="submit">
                {button}
            </button>
        </form>
    }
    .into_any()
}

/// The page about one of them.
pub fn edit_page(kind: Kind, known: &Known, filled: &Filled, now: Timestamp) -> AnyView {
    let name = known.name.as_str();
    let ended = known.ended_at.is_some();
    let parts: Vec<AnyView> = match kind {
        Kind::Users => vec![
            act(
                kind,
                name,
                ("role", "Change the role", ""),
                roles(filled, known.role.as_str()),
                "It counts at once, in open sessions too.",
            ),
            act(
                kind,
                name,
                ("password", "Make a new password", ""),
                (),
                "It is shown once, and all sessions end.",
            ),
            act(
                kind,
                name,
                ("sign-out", "Sign out everywhere", ""),
                (),
                "All sessions end, on every server within a second.",
            ),
            if ended {
                act(
                    kind,
                    name,
                    ("enable", "Enable", ""),
                    (),
                    "They may sign in again.",
                )
            } else {
                act(
                    kind,
                    name,
                    ("disable", "Disable", "danger"),
                    (),
                    "They may sign in no more, and all sessions end. The name stays taken, for the history refers to it.",
                )
            },
        ],
        Kind::Tokens if ended => Vec::new(),
        Kind::Tokens => vec![
            act(
                kind,
                name,
                ("rotate", "Rotate", ""),
                (),
                "A new secret is shown once; the old one stops working within a second. It stays the same token, and its tenures go on.",
            ),
            act(
                kind,
                name,
                ("revoke", "Revoke", "danger"),
                (),
                "It stops working within a second, for good. Its tenures cannot be renewed, and lapse. The name stays taken.",
            ),
        ],
    };
    view! {
        <main class="ask">
            <section class="sheet dialog" data-name=name.to_owned()>
                <h1>
                    <bdi>{name.to_owned()}</bdi>
                </h1>
                <p class="muted">
                    {format!("{}, {}", known.role, works(kind, known, now))}
                    {known.own.then_some(". This is you.")}
                </p>
                {alert(filled)}
                {parts}
                <footer>
                    <a class="button primary" href=kind.path() autofocus>
                        "Back"
                    </a>
                </footer>
            </section>
        </main>
    }
    .into_any()
}

/// What was made, this once.
pub fn made_page(kind: Kind, name: &str, secret: String) -> AnyView {
    let (what, then) = match kind {
        Kind::Users => (
            "The password of",
            "Send it to them safely. They change it after signing in, under their name at the top.",
        ),
        Kind::Tokens => (
            "The token",
            "Put it where the program finds it, as BATON_TOKEN. Only a digest is stored here.",
        ),
    };
    view! {
        <main class="ask">
            <section class="sheet dialog">
                <h1>
                    {what} " "
                    <bdi>{name.to_owned()}</bdi>
                </h1>
                <p>
                    <b>"It is shown only now."</b>
                    " Copy it before you leave this page; it cannot be shown again."
                </p>
                <pre class="secret" tabindex="0" aria-label="The secret" data-part="secret">
                    {secret}
                </pre>
                <p class="muted">{then}</p>
                <footer>
                    <a class="button primary" href=kind.path()>
                        "I have it"
                    </a>
                </footer>
            </section>
        </main>
    }
    .into_any()
}

/// The page on which somebody changes their own password.
pub fn password_page(filled: &Filled, done: bool) -> AnyView {
    let secret = |name, label, hint, autocomplete| {
        text_field(
            filled,
            Field {
                name,
                label,
                hint,
                chars_max: 1_024,
                required: true,
                autocomplete,
                secret: true,
            },
        )
    };
    let done = done.then(|| {
        view! {
            <p class="notice" role="status" data-part="done">
                "Your password was changed, and your other sessions have ended."
            </p>
        }
    });
    view! {
        <main class="ask">
            <section class="sheet dialog">
                <h1>"Change your password"</h1>
                {done}
                {alert(filled)}
                <form method="post" action="/password">
                    {secret("password", "Password now", "", "current-password")}
                    {secret("new_password", "New password", "at least 8 characters", "new-password")}
                    {secret("again", "New password again", "", "new-password")}
                    <footer>
                        <a class="button" href="/">
                            "Cancel"
                        </a>
                        <button class="primary" type="submit">
                            "Change it"
                        </button>
                    </footer>
                </form>
            </section>
        </main>
    }
    .into_any()
}
