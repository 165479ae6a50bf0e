//! The pages and their addresses: what is answered to a browser that asks for
//! one.

use baton_client::{Code, Problem};

use crate::{
    Backstage, Viewer, address::sign_in_href, display::Display, handover, handovers, lease, leases,
    message, sign_in,
};

/// The addresses of the pages, as the server's router writes them.
pub const PATHS: &[&str] = &[
    "/",
    "/leases/{lease}",
    "/handovers",
    "/handovers/{seq}",
    "/sign-in",
];

/// What a browser asks for.
#[derive(Debug, Clone, Default)]
pub struct Visit {
    /// The path, decoded.
    pub path: String,
    /// The fields of the query, decoded.
    pub query: Vec<(String, String)>,
    /// How its reader wants pages to be shown, by cookie.
    pub display: Display,
    /// The nonce that lets the answer's own script run.
    pub nonce: String,
    /// A page that is open asks for its data alone, as JSON.
    pub data: bool,
}

impl Visit {
    /// A field of the query, the first of its name.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A page with its status.
    Page(u16, String),
    /// Data, as JSON.
    Data(String),
    /// A problem, for who asked for data.
    Problem(Box<Problem>),
    /// Another address.
    Elsewhere(String),
}

/// Answers a visit.
pub async fn open(backstage: &dyn Backstage, visit: &Visit) -> Reply {
    match visit.path.as_str() {
        "/" => leases::open(backstage, visit).await,
        "/sign-in" => Reply::Page(200, sign_in::page(visit)),
        "/handovers" => handovers::open(backstage, visit).await,
        path if path.starts_with("/handovers/") => {
            handover::open(backstage, &path["/handovers/".len()..], visit).await
        }
        path if path.starts_with("/leases/") => {
            lease::open(backstage, &path["/leases/".len()..], visit).await
        }
        _ => Reply::Page(404, message::not_found(visit.display)),
    }
}

/// What is answered in place of a page that could not be read.
pub fn refused(
    problem: Problem,
    what: &'static str,
    viewer: Option<Viewer>,
    here: String,
    visit: &Visit,
) -> Reply {
    if visit.data {
        return Reply::Problem(Box::new(problem));
    }
    if problem.code == Code::Unauthenticated {
        return Reply::Elsewhere(sign_in_href(&here));
    }
    let status = problem.status;
    let html = message::problem(problem, what, viewer, here, visit.display);
    Reply::Page(status, html)
}

/// Data as it is answered to a page that is open.
pub fn data(data: &impl serde::Serialize) -> Reply {
    match serde_json::to_string(data) {
        Ok(text) => Reply::Data(text),
        Err(error) => Reply::Problem(Box::new(Problem::new(Code::Internal, error.to_string()))),
    }
}
