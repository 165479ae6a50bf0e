//! `baton report`: what an auditor asks about a lease or a holder.

use baton_client::{
    AtQuery, Call, HolderId, LeaseAt, LeaseName, LeaseState, Report, ReportQuery, Tenure,
    TenureQuery, Timestamp,
};

use super::{
    Exit, Failure,
    connection::{ConnectionArgs, Session},
    output, pages,
    safe::safe,
    table::{clock, span},
};

/// Report how a lease fared, who held it at some time, or what a holder held
///
/// `baton report LEASE --from T --to T` tells how long the lease had a holder, how
/// often it changed hands, who forced that, and how long it took until a new holder
/// came. `baton report LEASE --at T` tells who held it then. `baton report --holder H`
/// lists what H held.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Which lease
    #[arg(required_unless_present = "holder", conflicts_with = "holder")]
    lease: Option<LeaseName>,

    /// Who held it at this time, as 2026-11-29T02:14:07Z
    #[arg(long, value_name = "TIME", requires = "lease", conflicts_with_all = ["from", "to"])]
    at: Option<Timestamp>,

    /// All tenures of this holder
    #[arg(long)]
    holder: Option<HolderId>,

    /// From this time on [default: seven days before --to]
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,

    /// Before this time [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<Timestamp>,

    /// Print the answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// What a report is about unless it says: a week.
const WEEK_US: i64 = 7 * 86_400_000_000;

/// Runs the command.
pub async fn run(args: ReportArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    match (&args.lease, &args.holder) {
        (Some(lease), _) => match args.at {
            Some(time) => held_at(&session, lease, time, args.json).await,
            None => report(&session, lease, &args).await,
        },
        (None, Some(holder)) => tenures(&session, holder, &args).await,
        (None, None) => Err(Failure::new(Exit::Usage, "name a lease, or a --holder")),
    }
}

async fn held_at(
    session: &Session,
    lease: &LeaseName,
    time: Timestamp,
    json: bool,
) -> Result<(), Failure> {
    let answer = session.send(Call::at(lease, &AtQuery { time })).await?;
    if json {
        return output::json_line(&answer.text);
    }
    output::line(&at_text(&answer.value))
}

fn at_text(at: &LeaseAt) -> String {
    let when = clock(at.time);
    let Some(tenure) = &at.tenure else {
        return format!(
            "Nobody held {} at {when}; generation {}.",
            at.lease, at.generation
        );
    };
    let holder = safe(tenure.holder.as_str());
    let held = match at.state {
        LeaseState::Lapsed => format!(
            "Nobody held {} at {when}: the tenure of {holder} had lapsed",
            at.lease
        ),
        _ => format!("{holder} held {} at {when}", at.lease),
    };
    format!(
        "{held}; generation {}, from {} until {}.",
        at.generation,
        clock(tenure.from),
        ending(tenure)
    )
}

async fn report(session: &Session, lease: &LeaseName, args: &ReportArgs) -> Result<(), Failure> {
    let to = match args.to {
        Some(to) => to,
        // The server's now; only its clock counts.
        None => session.send(Call::lease(lease)).await?.value.now,
    };
    let week_before = Timestamp::from_micros(to.micros() - WEEK_US);
    let query = ReportQuery {
        from: args.from.unwrap_or(week_before),
        to,
    };
    let answer = session.send(Call::report(lease, &query)).await?;
    if args.json {
        return output::json_line(&answer.text);
    }
    output::line(&report_text(&answer.value))
}

fn report_text(report: &Report) -> String {
    let mut lines = vec![
        format!(
            "{} from {} to {}",
            report.lease,
            clock(report.from),
            clock(report.to)
        ),
        format!(
            "held            {} ({}.{:04} %)",
            span(report.held_ms),
            report.availability_ppm / 10_000,
            report.availability_ppm % 10_000
        ),
        format!(
            "without holder  {} in {} gaps",
            span(report.unheld_ms),
            report.gaps
        ),
    ];
    if let Some(mean_ms) = report.mean_gap_ms {
        lines.push(format!(
            "new holder      after {} on average",
            span(mean_ms)
        ));
    }
    if let Some(gap) = &report.longest_gap {
        let until = gap.until.map_or("and no one came".into(), |at| {
            format!("until {}", clock(at))
        });
        lines.push(format!(
            "longest gap     {} from {} {until}",
            span(gap.ms),
            clock(gap.from)
        ));
    }
    if let Some(tenure) = &report.longest_tenure {
        lines.push(format!(
            "longest tenure  {} by {}, generation {}, from {} until {}",
            span(tenure.from.ms_until(tenure.until.unwrap_or(report.to))),
            safe(tenure.holder.as_str()),
            tenure.generation,
            clock(tenure.from),
            ending(tenure)
        ));
    }
    let events: Vec<String> = report
        .events
        .iter()
        .map(|(event, count)| format!("{count} {}", safe(event)))
        .collect();
    lines.push(format!("tenures         {}", report.tenures));
    lines.push(format!(
        "entries         {}",
        if events.is_empty() {
            "none".into()
        } else {
            events.join(", ")
        }
    ));
    for by in &report.forced_by {
        let actor = by.actor.to_string();
        lines.push(format!(
            "forced          {} times by {}",
            by.count,
            safe(&actor)
        ));
    }
    lines.join("\n")
}

fn ending(tenure: &Tenure) -> String {
    match (tenure.until, tenure.ended) {
        (Some(until), Some(ended)) => format!("{} ({ended})", clock(until)),
        _ => "now or later".into(),
    }
}

async fn tenures(session: &Session, holder: &HolderId, args: &ReportArgs) -> Result<(), Failure> {
    let query = TenureQuery {
        holder: holder.clone(),
        from: args.from,
        to: args.to,
        limit: None,
        cursor: None,
    };
    let all = pages::each(session, query, true, |answer, first| {
        if args.json {
            output::items(&answer.text)
        } else {
            let rows = answer.value.items.iter().map(tenure_row);
            let nothing = "The history knows of no such tenure.";
            pages::print(
                first,
                &["FROM", "UNTIL", "LEASE", "GENERATION"],
                nothing,
                rows,
            )
        }
    });
    all.await.map(drop)
}

fn tenure_row(tenure: &Tenure) -> Vec<String> {
    vec![
        clock(tenure.from),
        ending(tenure),
        tenure.lease.to_string(),
        tenure.generation.to_string(),
    ]
}
