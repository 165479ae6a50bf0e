//! How a command fails: words for people, a code for scripts. This is the one
//! place that turns the client's errors into exit codes.

use std::process::ExitCode;

use baton_client::{CallError, Code, Failed, Problem};

use super::{
    output,
    safe::{safe, safe_lines},
    table::span,
};

/// The exit codes, which never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Something went wrong that has no code of its own.
    Failed = 1,
    /// The arguments make no sense.
    Usage = 2,
    /// A rule says no: held, lost, no such lease …
    Refused = 3,
    /// Who asks is not known, or may not.
    NotAuthorised = 4,
    /// The server or the database cannot be reached.
    Unreachable = 5,
    /// `baton run` could not have the lease. As `EX_TEMPFAIL`: try again later.
    NotHad = 75,
}

/// Why a command ends without having done its work.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    text: String,
    /// What the server answered, for those who asked for JSON.
    json: Option<String>,
    /// Nobody is there to read what this command prints, which is no failure.
    reader_left: bool,
}

impl Failure {
    /// A failure. The text says what was wrong, with which value, and what to
    /// do about it.
    pub fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self {
            exit,
            text: text.into(),
            json: None,
            reader_left: false,
        }
    }

    /// A failure and what is behind it, on one line.
    pub fn caused(exit: Exit, error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            text.push_str(&format!(": {inner}"));
            source = inner.source();
        }
        Self::new(exit, safe(&text))
    }

    /// Standard output is closed, as by `| head`.
    pub fn reader_left() -> Self {
        Self {
            reader_left: true,
            ..Self::new(Exit::Failed, "")
        }
    }

    /// The code that the program will end with.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// What was wrong, in words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// With another exit code.
    #[must_use]
    pub fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Also prints what the server answered, as JSON on standard output.
    #[must_use]
    pub fn with_json(mut self, json: Option<String>) -> Self {
        self.json = json;
        self
    }

    /// Adds a line about what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.text.push('\n');
        self.text.push_str(hint);
        self
    }

    /// Says it on standard error, and gives the program's exit code.
    pub fn report(self) -> ExitCode {
        if self.reader_left {
            return ExitCode::SUCCESS;
        }
        if let Some(json) = &self.json {
            // A reader that left gets the exit code at least.
            let _ = output::line(json);
        }
        output::note(&format!("error: {}", self.text));
        ExitCode::from(self.exit as u8)
    }

    /// What a failed call means for a command. `token` is whether one was sent.
    pub fn of_call(error: &CallError, token: bool) -> Self {
        match error {
            CallError::Refused(problem) => {
                Self::new(exit_of(problem), problem_text(problem, token))
            }
            CallError::NotDone(failed) => {
                Self::new(exit_of_failed(failed), failed_text(failed, token))
            }
            CallError::Unknown(failed) => Self::new(
                exit_of_failed(failed),
                format!(
                    "{}\nIt may have been done all the same: look before you repeat it.",
                    failed_text(failed, token)
                ),
            ),
        }
    }
}

fn exit_of(problem: &Problem) -> Exit {
    match (problem.status, problem.code) {
        (401 | 403, _) => Exit::NotAuthorised,
        (409, _) | (_, Code::UnknownLease) => Exit::Refused,
        (400 | 413 | 415 | 422, _) => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn exit_of_failed(failed: &Failed) -> Exit {
    match failed.status {
        Some(401 | 403) => Exit::NotAuthorised,
        None | Some(502..=504) => Exit::Unreachable,
        Some(_) => Exit::Failed,
    }
}

fn problem_text(problem: &Problem, token: bool) -> String {
    let mut text = format!(
        "{}: {}",
        safe_lines(&problem.title),
        safe_lines(&problem.detail)
    );
    for error in &problem.errors {
        text.push_str(&format!(
            "\n  {}: {}",
            safe_lines(&error.field),
            safe_lines(&error.message)
        ));
    }
    if let Some(wait_ms) = problem.retry_after_ms {
        text.push_str(&format!("\nIt may be possible in {}.", span(wait_ms)));
    }
    if problem.code == Code::Unauthenticated {
        text.push('\n');
        text.push_str(token_hint(token));
    }
    text
}

fn failed_text(failed: &Failed, token: bool) -> String {
    let mut text = safe_lines(&failed.what);
    if let Some(cause) = failed.root_cause() {
        text.push_str(&format!(" ({})", safe_lines(&cause)));
    }
    match failed.status {
        None => text.push_str(
            "\nIs `baton serve` running, and is that its address? Set --url or BATON_URL.",
        ),
        Some(401 | 403) => {
            text.push('\n');
            text.push_str(token_hint(token));
        }
        Some(_) => {}
    }
    // A history that is behind stays so until somebody acts.
    let stays = failed.problem.as_ref().map(|problem| problem.code) == Some(Code::HistoryBehind);
    if let Some(wait) = failed.retry_after.filter(|_| !stays) {
        text.push_str(&format!(
            "\nTry again in {}.",
            span(wait.as_millis().try_into().unwrap_or(u64::MAX))
        ));
    }
    let request = failed.problem.as_ref().and_then(|p| p.request_id.as_ref());
    if let Some(id) = request {
        text.push_str(&format!(
            "\nThe server's log has it as request {}.",
            safe_lines(id)
        ));
    }
    text
}

/// What to do about an unknown caller.
pub fn token_hint(token: bool) -> &'static str {
    if token {
        "The token in BATON_TOKEN (or --token-file) is not, or no longer, one of this server's.\n\
         An admin makes a new one with `baton token create`."
    } else {
        "No token was sent: put one in BATON_TOKEN, or in a file for --token-file.\n\
         `baton serve` prints the first one when it makes a database; `baton token create` makes more."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit_for(code: Code) -> Exit {
        let refused = CallError::Refused(Box::new(Problem::new(code, "do this")));
        Failure::of_call(&refused, true).exit()
    }

    #[test]
    fn refusals_have_the_exit_codes_of_the_contract() {
        for code in Code::ALL {
            let expected = match (code.status(), code) {
                (_, Code::UnknownLease) | (409, _) => Exit::Refused,
                (401 | 403, _) => Exit::NotAuthorised,
                (400 | 413 | 415 | 422, _) => Exit::Usage,
                _ => Exit::Failed,
            };
            assert_eq!(exit_for(*code), expected, "{code}");
        }
    }

    #[test]
    fn a_refusal_names_every_wrong_field() {
        let mut problem = Problem::new(Code::Invalid, "Correct it.");
        problem.errors.push(baton_client::FieldError {
            field: "ttl_ms".into(),
            message: "is 5, at least 1000\u{1b}[2J".into(),
        });
        let refused = CallError::Refused(Box::new(problem));
        let text = Failure::of_call(&refused, true).text;
        assert!(
            text.contains("ttl_ms: is 5, at least 1000\\u{1b}[2J"),
            "{text}"
        );
    }
}
