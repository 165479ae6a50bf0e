//! The calls about the access log, which are for admins.

use axum::{Json, body::Bytes, response::IntoResponse};
use baton_client::{AccessEvent, AccessExportQuery, AccessPage, AccessQuery, AccessTrailer};
use futures_util::{Stream, stream};
use serde_json::json;

use crate::{
    access_log::{AccessLog, Draft, Ends},
    chain::canonical,
    people::PeopleError,
};

use super::{
    answer::{Answer, Oops},
    call::Call,
    export::file,
    parse,
};

/// `GET /access`.
pub async fn access(call: Call) -> Answer {
    let query: AccessQuery = call.query()?;
    parse::access_query(&query)?;
    let page: AccessPage = call.access_log().page(&query).await?;
    Ok(Json(page).into_response())
}

/// `GET /access/export`.
pub async fn export(call: Call) -> Answer {
    let query: AccessExportQuery = call.query()?;
    let filter = query.filter();
    parse::access_query(&filter)?;
    call.exported("access", &filter).await?;
    let log = call.access_log().clone();
    let ends = log.ends().await.map_err(PeopleError::from)?;
    let name = format!("baton-access-{}.jsonl", ends.tip.seq);
    let lines = lines(log, filter, ends);
    Ok(file(call, "application/jsonl", &name, lines))
}

/// What is left of an export: the log, and what its trailer says so far.
struct Rest {
    log: AccessLog,
    trailer: AccessTrailer,
    over: bool,
}

/// Each entry in the form that was hashed, with its hash in it; then the trailer.
/// Read in short pieces by key. What fails breaks the connection, so that a cut
/// can't be taken for the end.
fn lines(
    log: AccessLog,
    filter: AccessQuery,
    ends: Ends,
) -> impl Stream<Item = Result<Bytes, sqlx::Error>> {
    let rest = Rest {
        log,
        trailer: AccessTrailer {
            filter,
            count: 0,
            first_seq: None,
            last_seq: None,
            last_hash: None,
            head_seq: ends.tip.seq,
            head_hash: ends.tip.hash,
            now: ends.now,
        },
        over: false,
    };
    stream::try_unfold(rest, |mut rest| async move {
        if rest.over {
            return Ok(None);
        }
        let text = rest.next().await?;
        Ok(Some((Bytes::from(text), rest)))
    })
}

impl Rest {
    async fn next(&mut self) -> sqlx::Result<Vec<u8>> {
        let trailer = &mut self.trailer;
        let after = trailer.last_seq.unwrap_or(0);
        let read = self.log.stretch(&trailer.filter, after, trailer.head_seq);
        let entries = read.await?;
        let mut text = Vec::new();
        for entry in &entries {
            line(entry, &mut text)?;
            trailer.count += 1;
            trailer.first_seq.get_or_insert(entry.seq);
            trailer.last_seq = Some(entry.seq);
            trailer.last_hash = Some(entry.hash.clone());
        }
        if entries.is_empty() {
            self.over = true;
            line(&json!({ "trailer": self.trailer }), &mut text)?;
        }
        Ok(text)
    }
}

fn line(value: &impl serde::Serialize, text: &mut Vec<u8>) -> sqlx::Result<()> {
    let form = canonical(value).map_err(|why| sqlx::Error::Encode(Box::new(why)))?;
    text.extend(form);
    text.push(b'\n');
    Ok(())
}

impl Call {
    /// The access log.
    pub fn access_log(&self) -> &AccessLog {
        self.site.people().access_log()
    }

    /// Leaves an entry of an export. Without it, nothing is exported.
    ///
    /// # Errors
    /// The entry cannot be written.
    pub fn exported<F: serde::Serialize>(
        &self,
        log: &str,
        filter: &F,
    ) -> impl Future<Output = Result<(), Oops>> + Send + use<F> {
        let filter = canonical(filter).unwrap_or_default();
        let filter = String::from_utf8_lossy(&filter).into_owned();
        let details = json!({ "filter": filter, "log": log });
        let draft = Draft {
            event: AccessEvent::Exported,
            // None is a stranger, where strangers may read.
            actor: self.caller.actor(),
            address: Some(self.address.to_string()),
            request_id: Some(self.request_id.clone()),
            subject: None,
            details: details.as_object().cloned().unwrap_or_default(),
        };
        let log = self.access_log().clone();
        async move { Ok(log.record(&[draft]).await.map_err(PeopleError::from)?) }
    }
}
