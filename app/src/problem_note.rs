//! What stands where the list would be when it could not be read.

use baton_client::{Code, Problem};
use leptos::prelude::*;

/// What went wrong and what to do, with the server's id of the request.
#[component]
pub fn ProblemNote(problem: RwSignal<Option<Problem>>, here: Memo<String>) -> impl IntoView {
    move || problem.get().map(|problem| note(problem, here))
}

fn note(problem: Problem, here: Memo<String>) -> impl IntoView {
    let title = match problem.code {
        Code::StoreUnavailable => {
            "The leases could not be read: the database does not answer".to_owned()
        }
        Code::Forbidden => "You may not see the leases".to_owned(),
        _ => format!(
            "The leases could not be read: {}",
            problem.title.to_lowercase()
        ),
    };
    view! {
        <div class="sheet empty problem" role="alert" data-part="problem">
            <h2>{title}</h2>
            <p>
                <bdi>{problem.detail}</bdi>
            </p>
            <p>
                <a class="button" rel="external" href=here>
                    "Try again"
                </a>
            </p>
            <p class="small muted">
                "Code " <code>{problem.code.as_str()}</code>
                {problem.request_id.map(|id| view! { ", request " <code>{id}</code> })}
            </p>
        </div>
    }
}
