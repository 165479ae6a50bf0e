//! The list of leases: a table that turns into cards on a phone. The roles are
//! said again because a table laid out as blocks loses its own.

use leptos::prelude::*;

use crate::{
    lease_row::LeaseRow,
    live::{LeaseList, Live},
};

/// The table.
#[component]
pub fn LeaseTable(live: Live, list: LeaseList) -> impl IntoView {
    let rows = move || list.shown.get();
    view! {
            <table class="cards" role="table">
                <caption class="unseen">"Leases"</caption>
                <thead role="rowgroup">
                    <tr role="row">
                        <th role="columnheader" scope="col">"Lease"</th>
                        <th role="columnheader" scope="col" class="mark">"State"</th>
                        <th role="columnheader" scope="col" class="holder">"Holder"</th>
                        <th role="columnheader" scope="col" class="num">"Generation"</th>
                        <th role="columnheader" scope="col" class="time">"Held for"</th>
                        <th role="columnheader" scope="col" class="expires">"Expires in"</th>
                        <th role="columnheader" scope="col" class="last">"Last handover"</th>
                    </tr>
                </thead>
                <tbody role="rowgroup">
                    <For each=rows key=|row| row.name.clone() let:row>
                        <LeaseRow row live />
                    </For>
                </tbody>
            </table>
    }
}
