//! Acting on everything that a search shows, lease by lease.

use baton_app::plain::{
    Act, FILTERS, Filled, MANY, MANY_MAX, Many, More, Outcome, filters, many_page, outcomes_page,
};
use baton_app::{address::Show, sentence};
use baton_client::{
    Code, Generation, Lease, LeaseName, LeaseQuery, LeaseSort, LeaseState, Problem,
    limits::PAGE_MAX,
};

use super::{
    Page,
    acts::{access, request},
};
use crate::{
    http::{
        answer::{Answer, Oops},
        call::Call,
        pages::wants_page,
        parse,
    },
    people::authorise,
};

/// How many pages are counted to say how many more there are.
const COUNTED_PAGES: u64 = 10;

/// `GET /act`: what a search shows, and what could be done.
pub async fn look(call: Call) -> Answer {
    let filled = call.prefilled();
    show(&call, filled, None).await
}

async fn show(call: &Call, filled: Filled, problem: Option<Problem>) -> Answer {
    let status = problem.as_ref().map_or(200, |problem| problem.status);
    let mut many = Many {
        items: Vec::new(),
        more: More::Exactly(0),
        next: None,
        now: call.site.store().now().await?,
        denied: authorise(&call.caller, access(Act::Pause), None)
            .err()
            .map(|denied| denied.to_string()),
        stranger: call.caller.is_anonymous(),
        filled,
    };
    if filters(&many.filled) {
        let query = query(&many.filled)?;
        let page = call.site.store().leases(&query).await?;
        many.more = more(call, &query, page.next.clone()).await?;
        (many.items, many.next, many.now) = (page.items, page.next, page.now);
    }
    let page = Page::of(call, "Act on many leases")
        .true_at(many.now)
        .status(status);
    Ok(page.show(|| many_page(&many, problem.as_ref())))
}

/// The address's filters, as the list of leases takes them.
fn query(filled: &Filled) -> Result<LeaseQuery, Oops> {
    let said = |field| filled.said(field).map(|text| text.trim().to_owned());
    let word = said("state").unwrap_or_default();
    let shows = Show::CHOICES.into_iter().map(|(show, ..)| show);
    let show = shows.into_iter().find(|show| show.as_str() == word);
    let show =
        show.ok_or_else(|| Oops::field("state", format!("is none of the states: `{word}`")))?;
    let query = LeaseQuery {
        search: said("search"),
        prefix: said("prefix"),
        holder: said("holder"),
        state: match show {
            Show::In(state) => Some(state),
            Show::All | Show::Attention => None,
        },
        attention: (show == Show::Attention).then_some(true),
        sort: Some(LeaseSort::Name),
        limit: Some(MANY_MAX),
        cursor: said("cursor"),
    };
    parse::lease_query(&query)?;
    Ok(query)
}

/// How many leases match after the first page.
async fn more(call: &Call, query: &LeaseQuery, mut next: Option<String>) -> Result<More, Oops> {
    let mut counted = 0;
    for _ in 0..COUNTED_PAGES {
        let Some(cursor) = next else {
            return Ok(More::Exactly(counted));
        };
        let query = LeaseQuery {
            cursor: Some(cursor),
            limit: Some(PAGE_MAX),
            ..query.clone()
        };
        let page = call.site.store().leases(&query).await?;
        counted += page.items.len() as u64;
        next = page.next;
    }
    Ok(match next {
        None => More::Exactly(counted),
        Some(_) => More::Beyond(counted),
    })
}

/// `POST /act`: does it. Each outcome is on the page that answers; sent once
/// more, it does nothing twice, for each lease brings its generation.
pub async fn act(mut call: Call) -> Answer {
    let filled = call.form().await?;
    match done(&call, &filled).await {
        Ok((act, outcomes)) => {
            for (lease, code) in refused(&outcomes) {
                call.refused(act.as_str(), &lease, code).await;
            }
            let page = Page::of(&call, act.button());
            Ok(page.show(|| outcomes_page(act, &outcomes, &filled)))
        }
        Err(oops) if oops.0.code == Code::Invalid && wants_page(&call.headers) => {
            let filled = filled.wrong(&oops.0.errors, &[("bar_ms", "for_ms")]);
            show(&call, filled, Some(*oops.0)).await
        }
        Err(oops) => Err(oops),
    }
}

async fn done(call: &Call, filled: &Filled) -> Result<(Act, Vec<Outcome>), Oops> {
    let act = MANY
        .into_iter()
        .find(|act| act.as_str() == filled.get("do"));
    let act = act.ok_or_else(|| Oops::field("do", "is one of what the page offers"))?;
    let picked = picked(filled)?;
    let mut outcomes = Vec::with_capacity(picked.len());
    let mut requests = Vec::with_capacity(picked.len());
    for (generation, name) in picked {
        let may = authorise(&call.caller, access(act), Some(&name)).map_err(Oops::from);
        let lease = call.site.store().lease(&name).await?;
        let may = may.and_then(|()| sensible(act, lease.as_ref()));
        // What is wrong with the words is wrong for all, and nothing is done.
        let one = own(filled, generation);
        let request = request(act, &name, None, &one, call.asker()?)?;
        match may {
            Ok(()) => requests.push((name, request)),
            Err(oops) => outcomes.push(Outcome {
                lease: name,
                came: Err(oops.0),
            }),
        }
    }
    let names: Vec<LeaseName> = requests.iter().map(|(name, _)| name.clone()).collect();
    let answers = call.site.store().submit_all(requests).await;
    outcomes.extend(names.into_iter().zip(answers).map(|(lease, answer)| {
        Outcome {
            lease,
            came: answer
                .map(|done| Box::new(done.lease()))
                .map_err(|error| Oops::from(error).0),
        }
    }));
    Ok((act, outcomes))
}

/// The leases on which it was refused, and how.
fn refused(outcomes: &[Outcome]) -> Vec<(LeaseName, Code)> {
    let refused = outcomes.iter().filter_map(|outcome| {
        let problem = outcome.came.as_ref().err()?;
        Some((outcome.lease.clone(), problem.code))
    });
    refused.collect()
}

/// Why one lease is better left alone.
fn sensible(act: Act, lease: Option<&Lease>) -> Result<(), Oops> {
    if act.takes_away() && lease.is_some_and(|lease| lease.protected) {
        let why = "an admin protected it: it is done only on its own page, with its name typed";
        return Err(Oops::new(Code::Forbidden, why));
    }
    let free = lease.is_some_and(|lease| lease.state == LeaseState::Free);
    let why = match act.pointless(lease) {
        None if act == Act::ForceRelease && free => Some("Nobody holds it.".into()),
        why => why,
    };
    match why {
        Some(why) => Err(Oops::new(Code::NotHeld, sentence::plain(&why, None))),
        None => Ok(()),
    }
}

/// The leases that were ticked, with the generations that were seen.
fn picked(filled: &Filled) -> Result<Vec<(Generation, LeaseName)>, Oops> {
    let mut picked: Vec<(Generation, LeaseName)> = Vec::new();
    for text in filled.all("lease") {
        let read = text
            .split_once(' ')
            .and_then(|(generation, name)| Some((generation.parse().ok()?, name.parse().ok()?)));
        let read: (Generation, LeaseName) = read.ok_or_else(|| {
            Oops::field("lease", format!("is a generation and a name, not `{text}`"))
        })?;
        if picked.iter().all(|(_, name)| *name != read.1) {
            picked.push(read);
        }
    }
    if picked.is_empty() {
        return Err(Oops::field("lease", "tick at least one"));
    }
    if picked.len() as u64 > MANY_MAX {
        return Err(Oops::field("lease", format!("at most {MANY_MAX} at once")));
    }
    Ok(picked)
}

/// The form as the page of one lease would send it.
fn own(filled: &Filled, generation: Generation) -> Filled {
    let shared = filled.values().iter();
    let shared = shared.filter(|(field, _)| field != "lease" && !FILTERS.contains(&field.as_str()));
    let generation = ("expected_generation".to_owned(), generation.to_string());
    Filled::new(shared.cloned().chain([generation]).collect())
}
