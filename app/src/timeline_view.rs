//! The picture of a lease's time, and the same as a table.

use leptos::prelude::*;

use crate::{
    countdown::coarse,
    lease_asked::Window,
    live::{Live, OneLease, flag, text},
    moment::utc,
    moment_view::sentence,
    sentence::full,
    tenures::{End, Tenure, tenures},
    timeline::{Lane, Mark, Place, Stretch, timeline},
};

/// How high a lane is, and the line of times below.
const LANE: usize = 44;
const TIMES: usize = 22;
/// Rows of the table, at most: the newest tenures.
const ROWS_MAX: usize = 100;

fn known(one: OneLease) -> Memo<Vec<Tenure>> {
    let shows_now = !matches!(one.window, Window::Between(_, Some(_)));
    Memo::new(move |_| {
        let free = shows_now && one.lease.with(|lease| lease.holder.is_none());
        let before = one.before.get_value();
        one.entries
            .with(|entries| tenures(before.as_ref(), entries, free))
    })
}

/// The picture. It grows while its page is live.
#[component]
pub fn Picture(one: OneLease, live: Live) -> impl IntoView {
    let known = known(one);
    let picture = Memo::new(move |_| {
        let now = live.now_s.get();
        // What was read is newer than the second that it was read in.
        let now = now.max(one.lease.with(|lease| lease.granted_at).unwrap_or(now));
        let (from, to) = one.bounds(now);
        known.with(|known| timeline(known, from, to, now))
    });
    let height = text(move || {
        let lanes = picture.with(|picture| picture.lanes.len());
        (lanes.max(1) * LANE + TIMES).to_string()
    });
    let label = text(move || {
        picture.with(|picture| {
            let (from, to) = (utc(picture.from), utc(picture.to));
            format!("Tenures from {from} to {to}. The table below says the same.")
        })
    });
    let ticks = move || {
        let ticks = picture.with(|picture| picture.ticks.clone());
        ticks.into_iter().map(tick).collect::<Vec<_>>()
    };
    let lanes = move || {
        let lanes = picture.with(|picture| picture.lanes.clone());
        lanes.into_iter().enumerate().map(lane).collect::<Vec<_>>()
    };
    let now = move || {
        let now = picture.with(|picture| picture.now);
        now.map(|now| {
            let x = now.percent();
            view! { <line class="now" x1=x.clone() x2=x.clone() y1="0" y2="100%" /> }
        })
    };
    view! {
        <svg class="timeline" width="100%" height=height role="img" aria-label=label>
            <g class="times">{ticks}</g>
            <g>{lanes}</g>
            <g>{now}</g>
        </svg>
    }
}

fn tick((place, text): (Place, String)) -> impl IntoView {
    let x = place.percent();
    // A time near an edge is written inside.
    let anchor = match place.0 {
        0..600 => "start",
        9_400.. => "end",
        _ => "middle",
    };
    view! {
        <g>
            <line x1=x.clone() x2=x.clone() y1="0" y2="100%" />
            <text x=x.clone() y="100%" dy="-5" text-anchor=anchor>
                {text}
            </text>
        </g>
    }
}

fn lane((at, lane): (usize, Lane)) -> impl IntoView {
    let stretches = lane.stretches.into_iter().map(stretch);
    let marks = lane.marks.into_iter().map(mark);
    view! {
        <g transform=format!("translate(0 {})", at * LANE)>
            <text class="lane" x="2" y="14">
                {lane.name}
            </text>
            {stretches.collect::<Vec<_>>()}
            {marks.collect::<Vec<_>>()}
        </g>
    }
}

fn stretch(stretch: Stretch) -> impl IntoView {
    let middle = Place(stretch.from.0 + stretch.width.0 / 2);
    view! {
        <g class=stretch.class>
            <title>{stretch.title}</title>
            <rect x=stretch.from.percent() width=stretch.width.percent() y="20" height="18" rx="3" />
            <text x=middle.percent() y="33" text-anchor="middle">
                {stretch.label}
            </text>
        </g>
    }
}

fn mark(mark: Mark) -> impl IntoView {
    let (class, shape) = if mark.forced {
        ("forced", "M-3 16h6v26h-6z")
    } else {
        ("lapse", "M0 15l8 13h-16z")
    };
    view! {
        <svg class=class x=mark.at.percent() overflow="visible">
            <title>{mark.title}</title>
            <path d=shape />
        </svg>
    }
}

/// The same as a table, newest first.
#[component]
pub fn TenureTable(one: OneLease) -> impl IntoView {
    let known = known(one);
    let rows = move || {
        let newest = known.with(|known| {
            let newest = known.iter().rev().take(ROWS_MAX);
            newest.cloned().collect::<Vec<_>>()
        });
        newest.into_iter().map(row).collect::<Vec<_>>()
    };
    let cut = text(move || match known.with(Vec::len) {
        n if n > ROWS_MAX => format!("The newest {ROWS_MAX} of {n} tenures."),
        0 => "Nobody held it in this time.".to_owned(),
        _ => String::new(),
    });
    let whole = flag(move || (1..=ROWS_MAX).contains(&known.with(Vec::len)));
    view! {
        <table class="cards tenures" role="table">
            <caption class="unseen">"Tenures"</caption>
            <thead role="rowgroup">
                <tr role="row">
                    <th role="columnheader" scope="col">"Holder"</th>
                    <th role="columnheader" scope="col" class="num">"Generation"</th>
                    <th role="columnheader" scope="col">"From"</th>
                    <th role="columnheader" scope="col">"Until"</th>
                    <th role="columnheader" scope="col">"Held for"</th>
                    <th role="columnheader" scope="col">"Then"</th>
                </tr>
            </thead>
            <tbody role="rowgroup">{rows}</tbody>
        </table>
        <p class="small muted" hidden=whole>
            {cut}
        </p>
    }
}

fn row(tenure: Tenure) -> impl IntoView {
    let from = tenure.from.map(|at| full(at).to_string());
    let from = from.unwrap_or_else(|| "before this".to_owned());
    let until = match (tenure.end, tenure.until) {
        (_, Some(until)) => full(until).to_string(),
        (End::Open, None) => "goes on".to_owned(),
        (_, None) => "—".to_owned(),
    };
    let held = match (tenure.from, tenure.until) {
        (Some(from), Some(until)) => coarse(from.ms_until(until)),
        _ => "—".to_owned(),
    };
    let then = match tenure.lapses.len() {
        0 => tenure.end.as_str().to_owned(),
        1 if matches!(tenure.end, End::Lapsed | End::Taken) => tenure.end.as_str().to_owned(),
        n => format!("{}; lapsed {n} times", tenure.end.as_str()),
    };
    view! {
        <tr role="row">
            <td role="cell" class="wide" data-label="Holder">
                <bdi class="holder-name" title=tenure.holder.to_string()>
                    {tenure.holder.to_string()}
                </bdi>
            </td>
            <td role="cell" class="num" data-label="Generation">
                {tenure.generation.to_string()}
            </td>
            <td role="cell" class="when" data-label="From">
                {sentence(&from)}
            </td>
            <td role="cell" class="when" data-label="Until">
                {sentence(&until)}
            </td>
            <td role="cell" data-label="Held for">
                {held}
            </td>
            <td role="cell" data-label="Then">
                {then}
            </td>
        </tr>
    }
}
