//! Lists come in pages: one of them is shown, or all, one after the other.

use baton_client::{
    AccessPage, AccessQuery, Answer, Call, HandoverPage, HandoverQuery, LeasePage, LeaseQuery,
    TenurePage, TenureQuery, limits::PAGE_MAX,
};
use serde::de::DeserializeOwned;

use super::{Failure, connection::Session, output, table::Table};

/// What asks for a list.
pub trait Paged {
    /// A page of it.
    type Page: DeserializeOwned;

    /// The call for the page that this names.
    fn call(&self) -> Call<Self::Page>;

    /// How long a page is.
    fn limit(&mut self) -> &mut Option<u64>;

    /// Where a page begins.
    fn cursor(&mut self) -> &mut Option<String>;

    /// Where the page after this one begins.
    fn next(page: Self::Page) -> Option<String>;
}

macro_rules! paged {
    ($query:ty, $page:ty, $call:path) => {
        impl Paged for $query {
            type Page = $page;

            fn call(&self) -> Call<$page> {
                $call(self)
            }

            fn limit(&mut self) -> &mut Option<u64> {
                &mut self.limit
            }

            fn cursor(&mut self) -> &mut Option<String> {
                &mut self.cursor
            }

            fn next(page: $page) -> Option<String> {
                page.next
            }
        }
    };
}

paged!(LeaseQuery, LeasePage, Call::leases);
paged!(HandoverQuery, HandoverPage, Call::handovers);
paged!(AccessQuery, AccessPage, Call::access);
paged!(TenureQuery, TenurePage, Call::tenures);

/// Prints a page, or all of them from there on; `print` is told which is the
/// first. Says whether there is more.
pub async fn each<Q: Paged>(
    session: &Session,
    mut query: Q,
    all: bool,
    print: impl Fn(&Answer<Q::Page>, bool) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    if all {
        query.limit().get_or_insert(PAGE_MAX);
    }
    let mut first = true;
    loop {
        let answer = session.send(query.call()).await?;
        print(&answer, first)?;
        first = false;
        match Q::next(answer.value) {
            Some(next) if all => *query.cursor() = Some(next),
            next => return Ok(next.is_some()),
        }
    }
}

/// Prints the rows of a page; above the first the headings, or instead of it that
/// there is `nothing`.
pub fn print(
    first: bool,
    headings: &[&str],
    nothing: &str,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Result<(), Failure> {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        if first {
            output::note(nothing);
        }
        return Ok(());
    }
    let mut table = if first {
        Table::new(headings)
    } else {
        Table::bare()
    };
    rows.for_each(|row| table.row(row));
    output::line(&table.text())
}
