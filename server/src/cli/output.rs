//! Standard output and standard error. A reader that left (`| head`) ends the
//! command quietly, instead of with the panic that `println!` would be.

use std::io::{self, Write as _};

use baton_client::RawJson;

use super::{Exit, Failure};
use crate::safe::safe_json;

/// Prints text and ends the line.
pub fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| {
            if text.ends_with('\n') {
                Ok(())
            } else {
                out.write_all(b"\n")
            }
        })
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::reader_left(),
            _ => Failure::new(Exit::Failed, format!("cannot write the output: {error}")),
        })
}

/// Says something beside the output. Nobody listening is fine.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// JSON on one line: line breaks in JSON are either blanks between tokens or
/// escaped, so that they may become blanks.
pub fn json_line(json: &str) -> Result<(), Failure> {
    let json = safe_json(json);
    if json.contains(['\n', '\r']) {
        line(&json.replace(['\n', '\r'], " "))
    } else {
        line(&json)
    }
}

/// The items of a page, each as the server sent it, on a line of its own.
pub fn items(page: &str) -> Result<(), Failure> {
    #[derive(serde::Deserialize)]
    struct Page {
        items: Vec<RawJson>,
    }
    let page: Page = serde_json::from_str(page)
        .map_err(|error| Failure::new(Exit::Failed, format!("the answer is not JSON: {error}")))?;
    page.items.iter().try_for_each(|item| json_line(item.get()))
}
