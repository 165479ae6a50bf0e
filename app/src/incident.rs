//! An incident, as an operator named it: a link if it is an address of the web,
//! and otherwise, whatever it looks like, a text.

use leptos::{either::Either, prelude::*};

/// Whether a browser may be sent there.
pub fn is_link(incident: &str) -> bool {
    let rest = ["https://", "http://"].into_iter().find_map(|scheme| {
        let start = incident.get(..scheme.len())?;
        start
            .eq_ignore_ascii_case(scheme)
            .then(|| &incident[scheme.len()..])
    });
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

/// The incident.
#[component]
pub fn Incident(incident: String) -> impl IntoView {
    if is_link(&incident) {
        Either::Left(view! {
            <a class="incident" href=incident.clone() rel="external noopener noreferrer nofollow">
                <bdi>{incident.clone()}</bdi>
            </a>
        })
    } else {
        Either::Right(view! { <bdi class="incident">{incident}</bdi> })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are_links() {
        for good in ["https://x.example/INC-1", "HTTP://x"] {
            assert!(is_link(good), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            " https://x",
            "https://",
            "https://x y",
            "INC-4711",
            "data:text/html,x",
            "//x",
            "ä",
        ] {
            assert!(!is_link(bad), "{bad}");
        }
    }
}
