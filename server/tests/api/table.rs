//! The one table of routes: who may do what stands in it as the contract says, and
//! nothing is served that does not stand in it.

use baton::{
    http::routes::{ROUTES, Served, Verb},
    people::Access,
};

#[test]
fn the_table_says_who_may_do_what() {
    let role = |path: &str| {
        let route = ROUTES.iter().find(|route| route.path.ends_with(path));
        route.map(|route| route.access)
    };
    for (path, access) in [
        ("/acquire", Access::Hold),
        ("/renew", Access::Hold),
        ("/release", Access::Hold),
        ("/renewals", Access::Hold),
        ("/force-release", Access::Operate),
        ("/step-down", Access::Operate),
        ("/cancel-step-down", Access::Operate),
        ("/pause", Access::Operate),
        ("/unpause", Access::Operate),
        ("/protect", Access::Administer),
        ("/unprotect", Access::Administer),
        ("/forget", Access::Administer),
        ("/access", Access::Administer),
        ("/access/export", Access::Administer),
        ("/leases/{lease}", Access::Read),
        ("/leases", Access::Read),
        ("/check", Access::Read),
        ("/handovers", Access::Read),
        ("/handovers/export", Access::Read),
        ("/leases/{lease}/at", Access::Read),
        ("/leases/{lease}/report", Access::Read),
        ("/tenures", Access::Read),
        ("/verification", Access::Read),
        ("/handovers/{seq}", Access::Read),
        ("/events", Access::Read),
        ("/metrics", Access::Public),
        ("/lift", Access::Read),
        ("/act", Access::Read),
        ("/connect", Access::Read),
        ("/password", Access::Own),
        ("/users", Access::Administer),
        ("/users/new", Access::Administer),
        ("/users/edit", Access::Administer),
        ("/tokens", Access::Administer),
        ("/tokens/new", Access::Administer),
        ("/tokens/edit", Access::Administer),
    ] {
        assert_eq!(role(path), Some(access), "{path}");
    }
    // Who looks at a page need not be who may send it.
    let sent = |path: &str| {
        let mut routes = ROUTES.iter().filter(|route| route.method == Verb::Post);
        routes
            .find(|route| route.path == path)
            .map(|route| route.access)
    };
    for (path, access) in [
        ("/leases/{lease}/force-release", Access::Operate),
        ("/leases/{lease}/lift", Access::Operate),
        ("/leases/{lease}/unprotect", Access::Administer),
        ("/act", Access::Operate),
        ("/password", Access::Own),
        ("/users/edit", Access::Administer),
        ("/tokens/new", Access::Administer),
    ] {
        assert_eq!(sent(path), Some(access), "{path}");
    }
    // What anybody may ask for is little, and known.
    let public: Vec<&str> = ROUTES
        .iter()
        .filter(|route| route.access == Access::Public && !matches!(route.served, Served::Pages))
        .map(|route| route.path)
        .collect();
    let known = [
        "/api/v1/openapi.json",
        "/healthz",
        "/readyz",
        "/metrics",
        "/sign-in",
        "/sign-out",
        "/display",
        "/display",
    ];
    assert_eq!(public, known);
}

/// Whether the table has a route for this.
fn in_table(method: Verb, path: &str) -> bool {
    let fits = |pattern: &str| {
        let (pattern, path) = (pattern.split('/'), path.split('/'));
        pattern.clone().count() == path.clone().count()
            && pattern.zip(path).all(|(a, b)| a == b || a.starts_with('{'))
    };
    ROUTES
        .iter()
        .any(|route| route.method == method && fits(route.path))
}

#[test]
fn pages_have_no_route_that_is_not_in_the_table() {
    for path in baton_app::PATHS {
        assert!(in_table(Verb::Get, path), "{path}");
    }
    let site = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/site"));
    let mut folders = vec![site.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the site is built") {
            let path = entry.expect("the site is built").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let file = path.strip_prefix(site).expect("it is in there");
            let file = format!("/{}", file.display());
            assert!(in_table(Verb::Get, &file), "{file}");
        }
    }
}
