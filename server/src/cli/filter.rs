//! What selects entries of the history, for every command that shows some.

use baton_client::{Actor, HandoverEvent, HandoverQuery, LeaseName, Timestamp};

use super::words;

/// Which entries.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Which entries")]
pub struct FilterArgs {
    /// Only of this lease
    #[arg(long)]
    lease: Option<LeaseName>,

    /// Only of leases whose name starts with this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// Only from or to this holder
    #[arg(long)]
    holder: Option<String>,

    /// Only events of this kind
    #[arg(long, value_parser = words::event())]
    event: Option<HandoverEvent>,

    /// Only what this actor asked for: user:NAME, token:NAME or baton
    #[arg(long)]
    actor: Option<Actor>,

    /// Only of this incident
    #[arg(long, value_name = "TEXT")]
    incident: Option<String>,

    /// At this time or later, as 2026-11-29T02:14:07Z
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,

    /// Before this time
    #[arg(long, value_name = "TIME")]
    to: Option<Timestamp>,

    /// Only entries after this seq
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
}

impl FilterArgs {
    /// The query that selects them.
    pub fn query(&self) -> HandoverQuery {
        HandoverQuery {
            lease: self.lease.clone(),
            prefix: self.prefix.clone(),
            holder: self.holder.clone(),
            event: self.event,
            actor: self.actor.clone(),
            incident: self.incident.clone(),
            from: self.from,
            to: self.to,
            after: self.after,
            ..HandoverQuery::default()
        }
    }
}
