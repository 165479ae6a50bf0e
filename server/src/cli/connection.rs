//! How client commands reach a server.

use std::{path::PathBuf, time::Duration};

use baton_client::{Answer, Call, CallError, Client, EventStream, EventsQuery};
use serde::de::DeserializeOwned;

use super::{Exit, Failure};

/// Where the server is, and who asks. The token has no flag of its own: flags
/// show in the list of processes.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Server")]
pub struct ConnectionArgs {
    /// Where the server is
    #[arg(
        long,
        env = "BATON_URL",
        default_value = "http://127.0.0.1:7400",
        value_name = "URL"
    )]
    url: String,

    /// Read the API token from this file, instead of from the variable BATON_TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl ConnectionArgs {
    /// A session with the server. With `json`, refusals are printed as JSON too.
    pub fn session(&self, json: bool) -> Result<Session, Failure> {
        let token = self.token()?;
        let has_token = token.is_some();
        let client = Client::new(&self.url, token).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            Failure::new(Exit::Usage, format!("{error}{}", cause.unwrap_or_default()))
        })?;
        Ok(Session {
            client,
            has_token,
            json,
        })
    }

    /// The API token, if there is one.
    pub fn token(&self) -> Result<Option<String>, Failure> {
        let text = match &self.token_file {
            Some(file) => std::fs::read_to_string(file).map_err(|error| {
                let file = file.display();
                Failure::new(
                    Exit::Usage,
                    format!("the token file {file} cannot be read: {error}"),
                )
            })?,
            None => std::env::var("BATON_TOKEN").unwrap_or_default(),
        };
        let token = text.trim();
        if token.is_empty() && self.token_file.is_some() {
            return Err(Failure::new(Exit::Usage, "the token file is empty"));
        }
        Ok((!token.is_empty()).then(|| token.to_owned()))
    }
}

/// A client whose errors are this program's failures.
#[derive(Debug, Clone)]
pub struct Session {
    client: Client,
    has_token: bool,
    json: bool,
}

impl Session {
    /// The client itself, for those who judge its errors on their own.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether a token is sent.
    pub fn has_token(&self) -> bool {
        self.has_token
    }

    /// Makes a call.
    pub async fn send<T: DeserializeOwned>(&self, call: Call<T>) -> Result<Answer<T>, Failure> {
        self.client
            .send(call)
            .await
            .map_err(|error| self.failure(&error))
    }

    /// Opens the event stream.
    pub async fn events(&self, query: &EventsQuery) -> Result<EventStream, CallError> {
        self.client.events(query).await
    }

    /// What a failed call means for this command.
    pub fn failure(&self, error: &CallError) -> Failure {
        let json = error
            .problem()
            .filter(|_| self.json)
            .and_then(|problem| serde_json::to_string(problem).ok());
        Failure::of_call(error, self.has_token).with_json(json)
    }
}

/// Waits that double from half a second to ten, each somewhat random, so that
/// many clients of a server that comes back do not arrive all at once.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// How long to wait after one more failure.
    pub fn next(&mut self) -> Duration {
        let base_ms = 500u64 << self.failures.min(5);
        self.failures += 1;
        let base_ms = base_ms.min(10_000);
        Duration::from_millis(base_ms / 2 + rand::random_range(0..=base_ms / 2))
    }

    /// It works again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}
