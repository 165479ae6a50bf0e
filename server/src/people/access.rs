//! Who may do what: the one place that decides. Page, API and command line say
//! which access a thing needs, and ask here.

use baton_client::{LeaseName, Role};

use super::caller::{Caller, Kind};

/// What a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Nothing: anybody may.
    Public,
    /// To look at leases, handovers and events.
    Read,
    /// To change what is one's own: a password. With a session, never with an API
    /// token.
    Own,
    /// To acquire, renew and release: with an API token, never with a session,
    /// as a tenure belongs to a token.
    Hold,
    /// To force a release, ask to step down, pause.
    Operate,
    /// To change users, tokens and protection.
    Administer,
}

impl Access {
    /// The least role that has it.
    pub fn role(self) -> Option<Role> {
        match self {
            Self::Public => None,
            Self::Read | Self::Own => Some(Role::Viewer),
            Self::Hold => Some(Role::Holder),
            Self::Operate => Some(Role::Operator),
            Self::Administer => Some(Role::Admin),
        }
    }

    /// Whether it changes something, so that a token's prefixes limit it.
    pub fn changes(self) -> bool {
        match self {
            Self::Public | Self::Read => false,
            Self::Own | Self::Hold | Self::Operate | Self::Administer => true,
        }
    }
}

/// Why somebody may not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Nobody has said who is asking (401).
    #[error("{0}")]
    Unauthenticated(String),
    /// It is known who is asking, and they may not (403).
    #[error("{0}")]
    Forbidden(String),
}

/// Whether `caller` has this `access`, to `lease` when it is about one.
///
/// Roles include the ones below them. [`Access::Hold`] takes a token. A token
/// with prefixes changes only leases under them, and nothing that is no lease; a
/// call about many leases asks once without a lease and then for each.
///
/// # Errors
/// It has not; the detail says what is needed and what the caller has.
pub fn authorise(caller: &Caller, access: Access, lease: Option<&LeaseName>) -> Result<(), Denied> {
    let Some(needed) = access.role() else {
        return Ok(());
    };
    if caller.is_anonymous() && (access.changes() || caller.role().is_none()) {
        return Err(Denied::Unauthenticated(unauthenticated(access, needed)));
    }
    if access == Access::Hold && !matches!(caller.kind(), Kind::Token { .. }) {
        return Err(Denied::Forbidden(
            "leases are acquired, renewed and released with an API token of role holder, \
             not with a session of the page: send `Authorization: Bearer baton_…`"
                .into(),
        ));
    }
    if access == Access::Own && !matches!(caller.kind(), Kind::User { .. }) {
        return Err(Denied::Forbidden(
            "only a person who is signed in has a password; tokens are rotated instead".into(),
        ));
    }
    match caller.role() {
        Some(role) if role >= needed => {}
        role => {
            let role = role.map_or("none", Role::as_str);
            return Err(Denied::Forbidden(format!(
                "this takes the role {needed}, and {} has the role {role}",
                who(caller)
            )));
        }
    }
    if access.changes() {
        within_prefixes(caller, access, lease)?;
    }
    Ok(())
}

fn unauthenticated(access: Access, needed: Role) -> String {
    if access == Access::Hold {
        return "this takes an API token of role holder: send `Authorization: Bearer baton_…`"
            .into();
    }
    format!(
        "this takes the role {needed}: sign in, or send `Authorization: Bearer baton_…` \
         with a token that has it"
    )
}

fn within_prefixes(
    caller: &Caller,
    access: Access,
    lease: Option<&LeaseName>,
) -> Result<(), Denied> {
    let Kind::Token { prefixes, .. } = caller.kind() else {
        return Ok(());
    };
    if prefixes.is_empty() {
        return Ok(());
    }
    let within = match lease {
        Some(lease) => prefixes
            .iter()
            .any(|prefix| lease.as_str().starts_with(prefix.as_str())),
        // Users and tokens are under no prefix.
        None => access != Access::Administer,
    };
    if within {
        return Ok(());
    }
    Err(Denied::Forbidden(format!(
        "{} may change only leases whose names start with {}",
        who(caller),
        prefixes.join(", ")
    )))
}

fn who(caller: &Caller) -> String {
    match caller.kind() {
        Kind::User { name, .. } => format!("user {name}"),
        Kind::Token { name, .. } => format!("token {name}"),
        Kind::Anonymous => "nobody in particular".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [Role; 4] = [Role::Viewer, Role::Holder, Role::Operator, Role::Admin];
    const ACCESSES: [Access; 6] = [
        Access::Public,
        Access::Read,
        Access::Own,
        Access::Hold,
        Access::Operate,
        Access::Administer,
    ];

    fn lease(name: &str) -> LeaseName {
        name.parse().expect("a lease name")
    }

    fn token(role: Role, prefixes: &[&str]) -> Caller {
        let prefixes = prefixes.iter().map(|&prefix| prefix.into()).collect();
        Caller::token("1", "ci", role, prefixes)
    }

    /// The whole table, spelled out: viewer, holder, operator, admin.
    #[test]
    fn roles_include_lower_ones() {
        let table = [
            (Access::Public, [true, true, true, true]),
            (Access::Read, [true, true, true, true]),
            (Access::Own, [true, true, true, true]),
            (Access::Hold, [false, true, true, true]),
            (Access::Operate, [false, false, true, true]),
            (Access::Administer, [false, false, false, true]),
        ];
        for (access, allowed) in table {
            for (role, allowed) in ROLES.into_iter().zip(allowed) {
                let by_token = authorise(&token(role, &[]), access, Some(&lease("a")));
                // A token has nothing of its own.
                let by_right = allowed && access != Access::Own;
                assert_eq!(by_token.is_ok(), by_right, "token, {role}, {access:?}");
                let user = Caller::user("1", "ana", role);
                let by_user = authorise(&user, access, Some(&lease("a")));
                // A cookie never holds a lease.
                let allowed = allowed && access != Access::Hold;
                assert_eq!(by_user.is_ok(), allowed, "user, {role}, {access:?}");
            }
        }
    }

    #[test]
    fn strangers_read_only_where_that_is_allowed() {
        for access in ACCESSES {
            let stranger = authorise(&Caller::anonymous(false), access, None);
            assert_eq!(stranger.is_ok(), access == Access::Public, "{access:?}");
            let reader = authorise(&Caller::anonymous(true), access, None);
            assert_eq!(reader.is_ok(), !access.changes(), "{access:?}");
            for denied in [stranger, reader].into_iter().filter_map(Result::err) {
                assert!(matches!(denied, Denied::Unauthenticated(_)), "{denied:?}");
            }
        }
    }

    #[test]
    fn prefixes_limit_changes_and_not_reading() {
        let ci = token(Role::Admin, &["deploy.", "ci:"]);
        for access in ACCESSES {
            if access == Access::Own {
                continue;
            }
            assert!(authorise(&ci, access, Some(&lease("deploy.web"))).is_ok());
            assert!(authorise(&ci, access, Some(&lease("ci:1"))).is_ok());
            for outside in ["deploy", "Deploy.web", "a.deploy.web"] {
                let decided = authorise(&ci, access, Some(&lease(outside)));
                assert_eq!(decided.is_ok(), !access.changes(), "{access:?} {outside}");
            }
        }
        assert!(authorise(&ci, Access::Hold, None).is_ok());
        assert!(authorise(&ci, Access::Administer, None).is_err());
    }

    #[test]
    fn a_refusal_says_what_is_needed_and_what_there_is() {
        let denied = authorise(&token(Role::Viewer, &[]), Access::Operate, None);
        assert_eq!(
            denied,
            Err(Denied::Forbidden(
                "this takes the role operator, and token ci has the role viewer".into()
            ))
        );
        let denied = authorise(
            &token(Role::Holder, &["deploy."]),
            Access::Hold,
            Some(&lease("x")),
        );
        assert_eq!(
            denied,
            Err(Denied::Forbidden(
                "token ci may change only leases whose names start with deploy.".into()
            ))
        );
    }
}
