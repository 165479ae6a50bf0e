//! An incident for people, in Markdown: what happened, who was deposed, and for how
//! long nobody held what. Around the entries that a filter selects stands what came
//! between them on the same leases, and who held these next.

use std::{collections::BTreeMap, fmt::Write as _};

use baton_client::{
    ExportTrailer, Handover, HandoverEvent, HandoverQuery, HolderId, LeaseName, Timestamp,
    TrailerLine,
};

use crate::{
    audit::tenures::{Tenures, Turn},
    chain,
    safe::safe,
    store::{LogEnd, Reader},
};

use super::{ExportError, Tally};

/// More is not for people to read.
const ENTRIES_MAX: usize = 10_000;

/// What the report is made of.
struct Collected {
    filter: HandoverQuery,
    end: LogEnd,
    /// How many the filter selects, and the last of them.
    tally: Tally,
    /// All of the leases' entries, and those that raised them with all others, oldest
    /// first.
    entries: Vec<Handover>,
}

/// Makes the report of what a filter selects, and says how much that was.
///
/// # Errors
/// The log cannot be read, or the report would be too long.
pub async fn postmortem(
    reader: &Reader,
    filter: HandoverQuery,
    end: &LogEnd,
) -> Result<(String, Tally), ExportError> {
    let mut tally = Tally::new(filter.clone());
    let mut spoken: BTreeMap<LeaseName, (u64, u64)> = BTreeMap::new();
    let mut pages = reader.pages(filter.clone(), end.head.seq);
    while let Some(page) = pages.recv().await {
        for entry in page.map_err(ExportError::Store)? {
            tally.count(&entry);
            if let Some(lease) = &entry.lease {
                let seqs = spoken
                    .entry(lease.clone())
                    .or_insert((entry.seq, entry.seq));
                seqs.1 = entry.seq;
            }
        }
        if tally.count > ENTRIES_MAX as u64 {
            return Err(ExportError::TooLong { max: ENTRIES_MAX });
        }
    }
    let mut entries = Vec::new();
    for (lease, (first, last)) in spoken {
        entries.extend(around(reader, lease, first, last, end.head.seq).await?);
        if entries.len() > ENTRIES_MAX {
            return Err(ExportError::TooLong { max: ENTRIES_MAX });
        }
    }
    let seqs = entries.iter().map(|entry| entry.seq);
    if let (Some(first), Some(last)) = (seqs.clone().min(), seqs.max()) {
        // What ended all tenures in between.
        let raises = reader
            .raises(first, None)
            .await
            .map_err(ExportError::Store)?;
        entries.extend(raises.into_iter().filter(|raise| raise.seq < last));
    }
    entries.sort_by_key(|entry| entry.seq);
    let collected = Collected {
        filter,
        end: end.clone(),
        tally,
        entries,
    };
    Ok((collected.text()?, collected.tally))
}

/// The entries of a lease from one to another, and on until somebody holds it.
async fn around(
    reader: &Reader,
    lease: LeaseName,
    first: u64,
    last: u64,
    upto: u64,
) -> Result<Vec<Handover>, ExportError> {
    let query = HandoverQuery {
        lease: Some(lease),
        after: Some(first - 1),
        ..HandoverQuery::default()
    };
    let mut entries: Vec<Handover> = Vec::new();
    let mut pages = reader.pages(query, upto);
    while let Some(page) = pages.recv().await {
        for entry in page.map_err(ExportError::Store)? {
            let held = entry.holder.is_some();
            let seq = entry.seq;
            // What comes after a holder is there is another story.
            let over = entries
                .last()
                .is_some_and(|before| before.seq >= last && before.holder.is_some());
            if over {
                return Ok(entries);
            }
            entries.push(entry);
            if seq >= last && held {
                return Ok(entries);
            }
            if entries.len() > ENTRIES_MAX {
                return Err(ExportError::TooLong { max: ENTRIES_MAX });
            }
        }
    }
    Ok(entries)
}

/// A time in which nobody held a lease. It is none at all when somebody was waiting.
struct Gap {
    lease: LeaseName,
    from: Timestamp,
    until: Option<Timestamp>,
    next: Option<HolderId>,
}

impl Collected {
    fn text(&self) -> Result<String, ExportError> {
        let mut gaps = self.gaps();
        let mut text = String::new();
        let title = match &self.filter.incident {
            Some(incident) => format!("Incident {}", plain(incident)),
            None => "Handovers".to_owned(),
        };
        line(&mut text, &format!("# {title}\n"));
        line(&mut text, &self.origin()?);
        let mut deposed = String::new();
        self.deposed(&mut deposed, &gaps);
        gaps.retain(|gap| gap.until != Some(gap.from));
        self.summary(&mut text, &gaps);
        text.push_str(&deposed);
        without_holder(&mut text, &gaps, self.end.now);
        self.timeline(&mut text);
        let trailer: ExportTrailer = self.tally.trailer(&self.end);
        let trailer = chain::canonical(&TrailerLine { trailer })?;
        // Two hyphens would end the comment.
        let trailer = String::from_utf8_lossy(&trailer).replace("--", "-\\u002d");
        line(&mut text, &format!("\n<!-- {trailer} -->"));
        Ok(text)
    }

    fn origin(&self) -> Result<String, ExportError> {
        let filter = chain::canonical(&self.filter)?;
        Ok(format!(
            "From the handover log at {}, when it ended with entry {}. Selected: `{}`, {} entries.\n",
            self.end.now,
            self.end.head.seq,
            safe(&String::from_utf8_lossy(&filter)).replace('`', "'"),
            self.tally.count
        ))
    }

    fn gaps(&self) -> Vec<Gap> {
        let mut last: BTreeMap<&LeaseName, u64> = BTreeMap::new();
        for entry in &self.entries {
            last.extend(entry.lease.as_ref().map(|lease| (lease, entry.seq)));
        }
        let mut leases: BTreeMap<&LeaseName, (Tenures, Option<Timestamp>)> = BTreeMap::new();
        let mut gaps = Vec::new();
        for entry in &self.entries {
            let concerned: Vec<&LeaseName> = match &entry.lease {
                Some(lease) => vec![lease],
                // A lease whose story was over is not followed any more.
                None => {
                    let goes_on = |lease: &&&LeaseName| last.get(*lease) > Some(&entry.seq);
                    leases.keys().filter(goes_on).copied().collect()
                }
            };
            for name in concerned {
                let (tenures, since) = leases.entry(name).or_default();
                for turn in tenures.follow(entry).turns {
                    match turn {
                        Turn::Unheld(at) => *since = Some(at),
                        Turn::Held(at) => {
                            gaps.extend(since.take().map(|from| Gap {
                                lease: name.clone(),
                                from,
                                until: Some(at),
                                next: entry.holder.clone(),
                            }));
                        }
                    }
                }
            }
        }
        gaps.extend(leases.into_iter().filter_map(|(lease, (_, since))| {
            Some(Gap {
                lease: lease.clone(),
                from: since?,
                until: None,
                next: None,
            })
        }));
        gaps.sort_by_key(|gap| gap.from);
        gaps
    }

    fn summary(&self, text: &mut String, gaps: &[Gap]) {
        line(text, "## Summary\n");
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else {
            return line(text, "Nothing matches.\n");
        };
        line(
            text,
            &format!(
                "- From {} until {}, {}.",
                first.at,
                last.at,
                span(first.at, last.at)
            ),
        );
        let mut leases: Vec<&str> = self
            .entries
            .iter()
            .filter_map(|entry| Some(entry.lease.as_ref()?.as_str()))
            .collect();
        leases.sort_unstable();
        leases.dedup();
        let names: Vec<String> = leases.iter().map(|lease| plain(lease)).collect();
        line(
            text,
            &format!("- {} leases: {}.", names.len(), names.join(", ")),
        );
        let forced = self.entries.iter().filter(|entry| is_deposing(entry));
        line(text, &format!("- {} holders were deposed.", forced.count()));
        let open = gaps.iter().filter(|gap| gap.until.is_none()).count();
        line(
            text,
            &format!(
                "- {} times a lease had no holder; {open} still had none.\n",
                gaps.len()
            ),
        );
    }

    fn deposed(&self, text: &mut String, gaps: &[Gap]) {
        line(text, "## Who was deposed\n");
        let deposed: Vec<&Handover> = self.entries.iter().filter(|e| is_deposing(e)).collect();
        if deposed.is_empty() {
            return line(text, "Nobody.\n");
        }
        head(
            text,
            &[
                "When",
                "Lease",
                "Holder",
                "Generation",
                "By",
                "Why",
                "Next holder",
            ],
        );
        for entry in deposed {
            let gap = gaps.iter().rfind(|gap| {
                Some(&gap.lease) == entry.lease.as_ref()
                    && gap.from <= entry.at
                    && gap.until.is_none_or(|until| until >= entry.at)
            });
            let next = match gap.and_then(|gap| Some((gap.next.as_ref()?, gap.until?))) {
                Some((next, at)) => {
                    format!("{} after {}", plain(next.as_str()), span(entry.at, at))
                }
                None => "nobody".into(),
            };
            row(
                text,
                &[
                    entry.at.to_string(),
                    plain(entry.lease.as_ref().map_or("", |lease| lease.as_str())),
                    holder(&entry.previous_holder),
                    entry.previous_generation.to_string(),
                    plain(&entry.actor.to_string()),
                    plain(&entry.reason),
                    next,
                ],
            );
        }
        text.push('\n');
    }

    fn timeline(&self, text: &mut String) {
        line(text, "## Timeline\n");
        head(
            text,
            &[
                "Seq",
                "Time",
                "Lease",
                "Event",
                "Generation",
                "Holder",
                "Actor",
                "Why",
                "Incident",
            ],
        );
        for entry in &self.entries {
            row(
                text,
                &[
                    entry.seq.to_string(),
                    entry.at.to_string(),
                    plain(entry.lease.as_ref().map_or("all", |lease| lease.as_str())),
                    plain(entry.event.as_str()),
                    entry.generation.to_string(),
                    holder(&entry.holder),
                    plain(&entry.actor.to_string()),
                    plain(&entry.reason),
                    entry.incident.as_deref().map(plain).unwrap_or_default(),
                ],
            );
        }
    }
}

fn is_deposing(entry: &Handover) -> bool {
    entry.event == HandoverEvent::Forced && entry.previous_holder.is_some()
}

fn without_holder(text: &mut String, gaps: &[Gap], now: Timestamp) {
    line(text, "## Without a holder\n");
    if gaps.is_empty() {
        return line(text, "Never.\n");
    }
    head(text, &["Lease", "From", "Until", "For"]);
    for gap in gaps {
        let until = gap
            .until
            .map_or("no one came".into(), |until| until.to_string());
        row(
            text,
            &[
                plain(gap.lease.as_str()),
                gap.from.to_string(),
                until,
                span(gap.from, gap.until.unwrap_or(now)),
            ],
        );
    }
    text.push('\n');
}

fn holder(holder: &Option<HolderId>) -> String {
    holder
        .as_ref()
        .map_or("–".into(), |holder| plain(holder.as_str()))
}

/// Seconds, to the thousandth.
fn span(from: Timestamp, until: Timestamp) -> String {
    let ms = from.ms_until(until);
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}

fn line(text: &mut String, said: &str) {
    text.push_str(said);
    text.push('\n');
}

fn head(text: &mut String, columns: &[&str]) {
    let _ = writeln!(
        text,
        "| {} |\n|{}",
        columns.join(" | "),
        " --- |".repeat(columns.len())
    );
}

fn row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// Other people's text, which is only ever text: nothing in it is Markdown.
fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in safe(text).chars() {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | ':' | ';' | '/' | '@' | '\'' | '"')
        {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_people_wrote_is_markdown() {
        assert_eq!(plain("a | b"), "a \\| b");
        assert_eq!(plain("<script>*x*"), "\\<script\\>\\*x\\*");
        assert_eq!(plain("two\nlines"), "two\\\\nlines");
        assert_eq!(plain("[x](http://h/)"), "\\[x\\]\\(http://h/\\)");
        assert_eq!(plain("deploy.a@b:c"), "deploy.a@b:c");
    }
}
