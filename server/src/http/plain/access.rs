//! `/access`: the access log, for admins.

use baton_app::plain::{AccessShown, Filled, access_page};
use baton_client::{AccessQuery, FieldError, limits::PAGE_DEFAULT};

use super::Page;
use crate::http::{
    answer::{Answer, Oops},
    call::Call,
    parse,
};

/// `GET /access`.
pub async fn look(call: Call) -> Answer {
    let filled = call.prefilled();
    let read = match query(&filled) {
        Ok(query) => parse::access_query(&query).map(|()| query),
        Err(oops) => Err(oops),
    };
    let page = match read {
        Ok(query) => call.access_log().page(&query).await.map_err(Oops::from),
        Err(oops) => Err(oops),
    };
    match page {
        Ok(shown) => {
            let page = Page::of(&call, "Access log").true_at(shown.now);
            Ok(page.show(|| access_page(&filled, AccessShown::Entries(shown))))
        }
        // What is wrong with a field is said beside it.
        Err(oops) if !oops.0.errors.is_empty() => {
            let filled = filled.wrong(&oops.0.errors, &[]);
            let page = Page::of(&call, "Access log").status(oops.0.status);
            Ok(page.show(|| access_page(&filled, AccessShown::Nothing)))
        }
        Err(oops) => Err(oops),
    }
}

/// What the address asks for.
fn query(filled: &Filled) -> Result<AccessQuery, Oops> {
    let mut errors = Vec::new();
    let event = read(filled, "event", &mut errors);
    let actor = read(filled, "actor", &mut errors);
    let from = read(filled, "from", &mut errors);
    let to = read(filled, "to", &mut errors);
    if !errors.is_empty() {
        return Err(Oops::invalid(errors));
    }
    let said = |field| filled.said(field).map(|text| text.trim().to_owned());
    Ok(AccessQuery {
        event,
        actor,
        address: said("address"),
        subject: said("subject"),
        from,
        to,
        after: None,
        order: None,
        limit: Some(PAGE_DEFAULT),
        cursor: said("cursor"),
    })
}

/// A field's value, or nothing if there is none or it is wrong.
fn read<T>(filled: &Filled, field: &str, errors: &mut Vec<FieldError>) -> Option<T>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let text = filled.said(field)?.trim();
    match text.parse() {
        Ok(value) => Some(value),
        Err(why) => {
            errors.push(FieldError {
                field: field.into(),
                message: format!("{why}"),
            });
            None
        }
    }
}
