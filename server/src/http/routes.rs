//! The one table of all routes, with the access that each needs. The router,
//! the OpenAPI document and the authorisation test read it; a route that is not
//! in it does not exist.

use std::pin::Pin;

use baton_client::Code;

use crate::people::Access;

use baton_app::plain::{Act, Kind};

use super::{
    access,
    answer::Answer,
    call::Call,
    export, handovers, inquiry, keeping, leases,
    plain::{acts, connect, display, many, people},
    probes, sessions, stream,
};

/// What answers a route.
pub type Handler = fn(Call) -> Pin<Box<dyn Future<Output = Answer> + Send>>;

/// How a route is served.
#[derive(Clone, Copy)]
pub enum Served {
    /// By a call of this module, authorised before it runs.
    Call(Handler),
    /// By a plain page, authorised before it runs; its errors are pages, too.
    Plain(Handler),
    /// By the pages, which read through the backstage, which authorises.
    Pages,
}

/// What a route's body or answer is, by its name in the OpenAPI document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Nothing, or nothing that the document describes.
    Nothing,
    /// A form of a page, by its name in the tests.
    Form(&'static str),
    /// JSON of this schema.
    Json(&'static str),
    /// A query of this schema's fields.
    Query(&'static str),
    /// Text of one of these media types.
    Text(&'static [&'static str]),
}

/// The methods that routes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Looks, and changes nothing.
    Get,
    /// Changes something, or asks with a body.
    Post,
}

impl Verb {
    /// As HTTP writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// One route.
pub struct Route {
    /// The method.
    pub method: Verb,
    /// The path, with `{lease}` and `{seq}` for what varies.
    pub path: &'static str,
    /// What it takes to call it.
    pub access: Access,
    /// What answers.
    pub served: Served,
    /// Its name in the OpenAPI document; none if it does not stand there.
    pub name: Option<&'static str>,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What it takes.
    pub takes: Shape,
    /// What it answers when it succeeds.
    pub gives: Shape,
    /// The codes that it refuses with, besides those that every call can have.
    pub refusals: &'static [Code],
}

impl Route {
    /// Whether it is part of the API, whose errors are problems in JSON.
    pub fn is_api(&self) -> bool {
        self.path.starts_with("/api/")
    }
}

macro_rules! call {
    ($handler:path) => {
        Served::Call(|call| Box::pin($handler(call)))
    };
}

macro_rules! plain {
    ($handler:path) => {
        Served::Plain(|call| Box::pin($handler(call)))
    };
    ($handler:path, $what:expr) => {
        Served::Plain(|call| Box::pin($handler(call, $what)))
    };
}

/// What acquire, and nothing else, is refused with.
const ACQUIRE: &[Code] = &[
    Code::Held,
    Code::Paused,
    Code::Barred,
    Code::Reserved,
    Code::AttemptsExhausted,
    Code::Blocked,
    Code::GenerationMoved,
    Code::Lost,
    Code::HistoryBehind,
];
const TENURE: &[Code] = &[Code::Lost, Code::Blocked];
const SEEN: &[Code] = &[
    Code::UnknownLease,
    Code::GenerationMoved,
    Code::NotHeld,
    Code::Blocked,
];
const KNOWN: &[Code] = &[Code::UnknownLease, Code::Blocked];

const LEASE: Shape = Shape::Json("Lease");

/// A change of a lease.
const fn change(
    path: &'static str,
    access: Access,
    served: Served,
    name: &'static str,
    takes: &'static str,
    refusals: &'static [Code],
    summary: &'static str,
) -> Route {
    Route {
        method: Verb::Post,
        path,
        access,
        served,
        name: Some(name),
        summary,
        takes: Shape::Json(takes),
        gives: LEASE,
        refusals,
    }
}

/// Something to look at.
const fn look(
    path: &'static str,
    served: Served,
    name: &'static str,
    takes: Shape,
    gives: Shape,
    refusals: &'static [Code],
    summary: &'static str,
) -> Route {
    Route {
        method: Verb::Get,
        path,
        access: Access::Read,
        served,
        name: Some(name),
        summary,
        takes,
        gives,
        refusals,
    }
}

/// Something that anybody may ask for.
const fn public(
    method: Verb,
    path: &'static str,
    served: Served,
    gives: Shape,
    summary: &'static str,
) -> Route {
    Route {
        method,
        path,
        access: Access::Public,
        served,
        name: None,
        summary,
        takes: Shape::Nothing,
        gives,
        refusals: &[],
    }
}

/// A plain page.
const fn page(path: &'static str, access: Access, served: Served, summary: &'static str) -> Route {
    Route {
        method: Verb::Get,
        path,
        access,
        served,
        name: None,
        summary,
        takes: Shape::Nothing,
        gives: Shape::Text(&["text/html"]),
        refusals: &[],
    }
}

/// What a plain page's form does.
const fn form(
    path: &'static str,
    access: Access,
    served: Served,
    takes: &'static str,
    summary: &'static str,
) -> Route {
    Route {
        method: Verb::Post,
        takes: Shape::Form(takes),
        ..page(path, access, served, summary)
    }
}

/// All routes.
pub static ROUTES: &[Route] = &[
    change(
        "/api/v1/leases/{lease}/acquire",
        Access::Hold,
        call!(leases::acquire),
        "acquire",
        "Acquire",
        ACQUIRE,
        "Take a lease, or wait in line for it",
    ),
    change(
        "/api/v1/leases/{lease}/renew",
        Access::Hold,
        call!(leases::renew),
        "renew",
        "Renew",
        TENURE,
        "Keep a lease for another ttl, under the same generation",
    ),
    change(
        "/api/v1/leases/{lease}/release",
        Access::Hold,
        call!(leases::release),
        "release",
        "Release",
        TENURE,
        "Let a lease go",
    ),
    Route {
        gives: Shape::Json("Renewed"),
        ..change(
            "/api/v1/renewals",
            Access::Hold,
            call!(leases::renewals),
            "renewals",
            "Renewals",
            &[],
            "Renew up to 1,000 leases, each answered by itself",
        )
    },
    look(
        "/api/v1/leases/{lease}",
        call!(leases::lease),
        "lease",
        Shape::Nothing,
        LEASE,
        &[Code::UnknownLease],
        "One lease, with its payload",
    ),
    look(
        "/api/v1/leases/{lease}/check",
        call!(leases::check),
        "check",
        Shape::Query("CheckQuery"),
        Shape::Json("Checked"),
        &[],
        "Whether a generation is current",
    ),
    look(
        "/api/v1/leases/{lease}/at",
        call!(inquiry::at),
        "at",
        Shape::Query("AtQuery"),
        Shape::Json("LeaseAt"),
        &[Code::UnknownLease],
        "Who held a lease at some time",
    ),
    look(
        "/api/v1/leases/{lease}/report",
        call!(inquiry::report),
        "report",
        Shape::Query("ReportQuery"),
        Shape::Json("Report"),
        &[Code::UnknownLease],
        "How a lease fared: availability, changes of hands, times without a holder",
    ),
    look(
        "/api/v1/tenures",
        call!(inquiry::tenures),
        "tenures",
        Shape::Query("TenureQuery"),
        Shape::Json("TenurePage"),
        &[],
        "What a holder held, and when",
    ),
    look(
        "/api/v1/leases",
        call!(leases::leases),
        "leases",
        Shape::Query("LeaseQuery"),
        Shape::Json("LeasePage"),
        &[],
        "A page of leases",
    ),
    change(
        "/api/v1/leases/{lease}/force-release",
        Access::Operate,
        call!(leases::force_release),
        "force-release",
        "ForceRelease",
        SEEN,
        "Take a lease away from its holder",
    ),
    change(
        "/api/v1/leases/{lease}/step-down",
        Access::Operate,
        call!(leases::step_down),
        "step-down",
        "StepDownRequest",
        SEEN,
        "Ask a holder to let go by a deadline, at which the server forces",
    ),
    change(
        "/api/v1/leases/{lease}/cancel-step-down",
        Access::Operate,
        call!(leases::cancel_step_down),
        "cancel-step-down",
        "Reason",
        KNOWN,
        "Take a step-down back",
    ),
    change(
        "/api/v1/leases/{lease}/pause",
        Access::Operate,
        call!(leases::pause),
        "pause",
        "Reason",
        &[Code::Blocked],
        "Let nobody acquire; the current tenure may go on",
    ),
    change(
        "/api/v1/leases/{lease}/unpause",
        Access::Operate,
        call!(leases::unpause),
        "unpause",
        "Reason",
        KNOWN,
        "Let it be acquired again",
    ),
    change(
        "/api/v1/leases/{lease}/protect",
        Access::Administer,
        call!(leases::protect),
        "protect",
        "Protect",
        KNOWN,
        "Have the page ask for the name to be typed before it forces",
    ),
    change(
        "/api/v1/leases/{lease}/unprotect",
        Access::Administer,
        call!(leases::unprotect),
        "unprotect",
        "Protect",
        KNOWN,
        "Take the protection back",
    ),
    Route {
        access: Access::Administer,
        ..look(
            "/api/v1/access",
            call!(access::access),
            "access",
            Shape::Query("AccessQuery"),
            Shape::Json("AccessPage"),
            &[],
            "A page of the access log: sign-ins, changes of users and tokens, exports, refused actions",
        )
    },
    Route {
        access: Access::Administer,
        ..look(
            "/api/v1/access/export",
            call!(access::export),
            "access-export",
            Shape::Query("AccessExportQuery"),
            Shape::Text(&["application/jsonl"]),
            &[],
            "The access log as JSON Lines, oldest first, ended by a trailer",
        )
    },
    Route {
        gives: Shape::Json("Forgot"),
        ..change(
            "/api/v1/forget",
            Access::Administer,
            call!(keeping::forget),
            "forget",
            "Forget",
            &[],
            "Forget up to 1,000 leases that nobody touched for long; ask again while there are more",
        )
    },
    look(
        "/api/v1/handovers",
        call!(handovers::handovers),
        "handovers",
        Shape::Query("HandoverQuery"),
        Shape::Json("HandoverPage"),
        &[],
        "A page of the history",
    ),
    look(
        "/api/v1/handovers/export",
        call!(export::export),
        "export",
        Shape::Query("ExportQuery"),
        Shape::Text(&["application/jsonl", "text/csv", "text/markdown"]),
        &[],
        "The history as a file: JSON Lines that can be verified, CSV, or Markdown",
    ),
    look(
        "/api/v1/handovers/{seq}",
        call!(handovers::handover),
        "handover",
        Shape::Nothing,
        Shape::Json("Handover"),
        &[Code::NotFound],
        "One entry of the history",
    ),
    look(
        "/api/v1/verification",
        call!(inquiry::verified),
        "verification",
        Shape::Nothing,
        Shape::Json("Verification"),
        &[],
        "How far the server has verified the chain of the history, and what it found",
    ),
    look(
        "/api/v1/events",
        call!(stream::events),
        "events",
        Shape::Query("EventsQuery"),
        Shape::Text(&["text/event-stream"]),
        &[],
        "What changes, as server-sent events",
    ),
    Route {
        name: Some("openapi"),
        ..public(
            Verb::Get,
            "/api/v1/openapi.json",
            call!(probes::openapi),
            Shape::Json("OpenApi"),
            "This document",
        )
    },
    public(
        Verb::Get,
        "/healthz",
        call!(probes::healthz),
        Shape::Text(&["text/plain"]),
        "The process is alive",
    ),
    public(
        Verb::Get,
        "/readyz",
        call!(probes::readyz),
        Shape::Text(&["text/plain"]),
        "The database answers",
    ),
    public(
        Verb::Get,
        "/metrics",
        call!(probes::metrics),
        Shape::Text(&["text/plain"]),
        "What the server counts, for Prometheus",
    ),
    public(
        Verb::Post,
        "/sign-in",
        call!(sessions::sign_in),
        Shape::Nothing,
        "Begin a session, from the page's form",
    ),
    public(
        Verb::Post,
        "/sign-out",
        call!(sessions::sign_out),
        Shape::Nothing,
        "End the session",
    ),
    page(
        "/leases/{lease}/force-release",
        Access::Read,
        plain!(acts::look, Act::ForceRelease),
        "Asks before: take a lease away from its holder",
    ),
    form(
        "/leases/{lease}/force-release",
        acts::access(Act::ForceRelease),
        plain!(acts::act, Act::ForceRelease),
        "Act",
        "Take a lease away from its holder, from the page’s form",
    ),
    page(
        "/leases/{lease}/step-down",
        Access::Read,
        plain!(acts::look, Act::StepDown),
        "Asks before: ask a holder to let go by a deadline",
    ),
    form(
        "/leases/{lease}/step-down",
        acts::access(Act::StepDown),
        plain!(acts::act, Act::StepDown),
        "Act",
        "Ask a holder to let go by a deadline, from the page’s form",
    ),
    page(
        "/leases/{lease}/cancel-step-down",
        Access::Read,
        plain!(acts::look, Act::CancelStepDown),
        "Asks before: take a step-down back",
    ),
    form(
        "/leases/{lease}/cancel-step-down",
        acts::access(Act::CancelStepDown),
        plain!(acts::act, Act::CancelStepDown),
        "Act",
        "Take a step-down back, from the page’s form",
    ),
    page(
        "/leases/{lease}/pause",
        Access::Read,
        plain!(acts::look, Act::Pause),
        "Asks before: let nobody acquire",
    ),
    form(
        "/leases/{lease}/pause",
        acts::access(Act::Pause),
        plain!(acts::act, Act::Pause),
        "Act",
        "Let nobody acquire, from the page’s form",
    ),
    page(
        "/leases/{lease}/unpause",
        Access::Read,
        plain!(acts::look, Act::Unpause),
        "Asks before: let it be acquired again",
    ),
    form(
        "/leases/{lease}/unpause",
        acts::access(Act::Unpause),
        plain!(acts::act, Act::Unpause),
        "Act",
        "Let it be acquired again, from the page’s form",
    ),
    page(
        "/leases/{lease}/lift",
        Access::Read,
        plain!(acts::look, Act::Lift),
        "Asks before: take a bar or reservation back",
    ),
    form(
        "/leases/{lease}/lift",
        acts::access(Act::Lift),
        plain!(acts::act, Act::Lift),
        "Act",
        "Take a bar or reservation back, from the page’s form",
    ),
    page(
        "/leases/{lease}/reset-attempts",
        Access::Read,
        plain!(acts::look, Act::ResetAttempts),
        "Asks before: have the next grant count from zero",
    ),
    form(
        "/leases/{lease}/reset-attempts",
        acts::access(Act::ResetAttempts),
        plain!(acts::act, Act::ResetAttempts),
        "Act",
        "Have the next grant count from zero, from the page’s form",
    ),
    page(
        "/leases/{lease}/protect",
        Access::Read,
        plain!(acts::look, Act::Protect),
        "Asks before: have the name typed before it is forced",
    ),
    form(
        "/leases/{lease}/protect",
        acts::access(Act::Protect),
        plain!(acts::act, Act::Protect),
        "Act",
        "Have the name typed before it is forced, from the page’s form",
    ),
    page(
        "/leases/{lease}/unprotect",
        Access::Read,
        plain!(acts::look, Act::Unprotect),
        "Asks before: take the protection back",
    ),
    form(
        "/leases/{lease}/unprotect",
        acts::access(Act::Unprotect),
        plain!(acts::act, Act::Unprotect),
        "Act",
        "Take the protection back, from the page’s form",
    ),
    page(
        "/act",
        Access::Read,
        plain!(many::look),
        "Asks before something is done to all that a search shows",
    ),
    form(
        "/act",
        Access::Operate,
        plain!(many::act),
        "Many",
        "Do something to many leases, each by its own generation",
    ),
    page(
        "/connect",
        Access::Read,
        plain!(connect::look),
        "Lines to paste that make a holder",
    ),
    page(
        "/display",
        Access::Public,
        plain!(display::look),
        "Asks how pages are to be shown in this browser",
    ),
    form(
        "/display",
        Access::Public,
        plain!(display::choose),
        "Display",
        "Remember how pages are to be shown, in cookies",
    ),
    page(
        "/password",
        Access::Own,
        plain!(people::ask_password),
        "Asks for one’s own new password",
    ),
    form(
        "/password",
        Access::Own,
        plain!(people::set_password),
        "Password",
        "Change one’s own password",
    ),
    page(
        "/access",
        Access::Administer,
        plain!(super::plain::access::look),
        "The access log",
    ),
    page(
        "/users",
        Access::Administer,
        plain!(people::list, Kind::Users),
        "All users",
    ),
    page(
        "/users/new",
        Access::Administer,
        plain!(people::ask_new, Kind::Users),
        "Asks for a user’s name and role",
    ),
    form(
        "/users/new",
        Access::Administer,
        plain!(people::make, Kind::Users),
        "New",
        "Make a user, and show its secret once",
    ),
    page(
        "/users/edit",
        Access::Administer,
        plain!(people::ask_edit, Kind::Users),
        "Asks what to change about a user",
    ),
    form(
        "/users/edit",
        Access::Administer,
        plain!(people::change, Kind::Users),
        "EditUsers",
        "Change a user",
    ),
    page(
        "/tokens",
        Access::Administer,
        plain!(people::list, Kind::Tokens),
        "All tokens",
    ),
    page(
        "/tokens/new",
        Access::Administer,
        plain!(people::ask_new, Kind::Tokens),
        "Asks for a token’s name and role",
    ),
    form(
        "/tokens/new",
        Access::Administer,
        plain!(people::make, Kind::Tokens),
        "New",
        "Make a token, and show its secret once",
    ),
    page(
        "/tokens/edit",
        Access::Administer,
        plain!(people::ask_edit, Kind::Tokens),
        "Asks what to change about a token",
    ),
    form(
        "/tokens/edit",
        Access::Administer,
        plain!(people::change, Kind::Tokens),
        "EditTokens",
        "Change a token",
    ),
    public(
        Verb::Get,
        "/",
        Served::Pages,
        Shape::Text(&["text/html"]),
        "The page of all leases; sends strangers to sign in",
    ),
    public(
        Verb::Get,
        "/leases/{lease}",
        Served::Pages,
        Shape::Text(&["text/html"]),
        "The page of one lease; sends strangers to sign in",
    ),
    public(
        Verb::Get,
        "/handovers",
        Served::Pages,
        Shape::Text(&["text/html"]),
        "The page of the history; sends strangers to sign in",
    ),
    public(
        Verb::Get,
        "/handovers/{seq}",
        Served::Pages,
        Shape::Text(&["text/html"]),
        "The page of one entry; sends strangers to sign in",
    ),
    public(
        Verb::Get,
        "/sign-in",
        Served::Pages,
        Shape::Text(&["text/html"]),
        "The form to sign in with",
    ),
    Route {
        access: Access::Read,
        ..public(
            Verb::Get,
            "/totals",
            Served::Pages,
            Shape::Nothing,
            "How many leases there are of each kind, for pages that are open",
        )
    },
    public(
        Verb::Get,
        "/pkg/{file}",
        Served::Pages,
        Shape::Nothing,
        "The page's script, WebAssembly and styles",
    ),
    public(
        Verb::Get,
        "/favicon.svg",
        Served::Pages,
        Shape::Nothing,
        "The page's mark",
    ),
    public(
        Verb::Get,
        "/favicon-alert.svg",
        Served::Pages,
        Shape::Nothing,
        "The page's mark, when something asks for a look",
    ),
];
