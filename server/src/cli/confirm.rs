//! The generation that an operator wants to act on: given, or looked up, shown
//! and confirmed by a person at a terminal. Never looked up silently: the lease
//! may have a new holder by then, whom nobody meant.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use baton_client::{Call, Generation, Lease, LeaseName, LeaseState};

use super::{Exit, Failure, connection::Session, lease_text, output};

/// The generation given, or the current one after a person agreed. `what` ends
/// the question "Really … ?".
pub async fn generation(
    session: &Session,
    lease: &LeaseName,
    given: Option<Generation>,
    what: &str,
) -> Result<Generation, Failure> {
    if let Some(generation) = given {
        return Ok(generation);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "--expected-generation is needed when nobody is there to ask: see `baton show {lease}`"
            ),
        ));
    }
    let current = session.send(Call::lease(lease)).await?.value;
    output::note(lease_text::details(&current).trim_end());
    ask(&current, what)?;
    Ok(current.generation)
}

fn ask(lease: &Lease, what: &str) -> Result<(), Failure> {
    let wanted = if lease.protected {
        lease.lease.as_str()
    } else {
        "yes"
    };
    let whose = match lease.state {
        LeaseState::Free => "nobody".into(),
        LeaseState::Held | LeaseState::Lapsed => lease_text::holder(lease),
    };
    let answer = read_line(&format!(
        "Really {what} {}, generation {}, held by {whose}? Type {wanted} to go on: ",
        lease.lease, lease.generation
    ))?;
    if answer.trim() == wanted {
        Ok(())
    } else {
        Err(Failure::new(
            Exit::Failed,
            "not confirmed; nothing was done",
        ))
    }
}

fn read_line(question: &str) -> Result<String, Failure> {
    let mut answer = String::new();
    let mut err = io::stderr().lock();
    write!(err, "{question}")
        .and_then(|()| err.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer))
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot ask: {error}")))?;
    Ok(answer)
}
