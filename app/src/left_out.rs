//! What an address says that cannot be understood, above what is shown without it.

use leptos::prelude::*;

/// Names each field that is left out, by what the page calls it, and why.
#[component]
pub fn LeftOut(fields: Vec<(String, String)>) -> impl IntoView {
    (!fields.is_empty()).then(|| {
        let fields = fields.into_iter().map(|(field, why)| {
            view! {
                <li>
                    <b>
                        <bdi>{field}</bdi>
                    </b>
                    ": "
                    <bdi>{why}</bdi>
                </li>
            }
        });
        view! {
            <div class="problem-list" role="alert" data-part="left-out">
                <p>"This was asked for and cannot be understood. What is shown leaves it out:"</p>
                <ul>{fields.collect::<Vec<_>>()}</ul>
            </div>
        }
    })
}
