//! Where an export goes: a file that gets its name when it is whole, or standard
//! output.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use baton_client::{ExportFormat, ExportTrailer};

use super::super::{Exit, Failure, part::open_alone};

/// Where an export goes.
pub enum Sink {
    /// Standard output.
    Out(BufWriter<io::Stdout>),
    /// A file.
    File(Box<Part>),
}

/// A file that is not whole yet, under a name that says so.
pub struct Part {
    file: BufWriter<File>,
    part: PathBuf,
    whole: PathBuf,
    format: ExportFormat,
}

impl Sink {
    /// Opens it; nothing that has the name already is touched yet.
    pub fn open(output: Option<&Path>, format: ExportFormat) -> Result<Self, Failure> {
        let Some(whole) = output else {
            return Ok(Self::Out(BufWriter::new(io::stdout())));
        };
        let whole = &replaceable(whole)?;
        let part = beside(whole, "part");
        let file = open_alone(&part).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => Failure::new(
                Exit::Refused,
                format!("another export is writing {}", part.display()),
            ),
            _ => unwritten(&part, &error),
        })?;
        Ok(Self::File(Box::new(Part {
            file: BufWriter::new(file),
            part,
            whole: whole.to_owned(),
            format,
        })))
    }

    /// Writes what came.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Out(out) => out.write_all(piece).map_err(|error| unprinted(&error)),
            Self::File(part) => {
                let written = part.file.write_all(piece);
                written.map_err(|error| unwritten(&part.part, &error))
            }
        }
    }

    /// It is whole: the file gets its name, once it is on the disk.
    pub fn finish(self, trailer: &ExportTrailer) -> Result<(), Failure> {
        match self {
            Self::Out(mut out) => out.flush().map_err(|error| unprinted(&error)),
            Self::File(part) => part.finish(trailer),
        }
    }

    /// It will not become whole. What came stays, under the other name, which this
    /// gives back.
    pub fn keep(self) -> Option<PathBuf> {
        match self {
            Self::Out(mut out) => {
                // A reader that left is told by the exit code.
                let _ = out.flush();
                None
            }
            Self::File(mut part) => part.file.flush().is_ok().then_some(part.part),
        }
    }
}

impl Part {
    fn finish(mut self, trailer: &ExportTrailer) -> Result<(), Failure> {
        let flushed = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all());
        flushed.map_err(|error| unwritten(&self.part, &error))?;
        if self.format == ExportFormat::Csv {
            // Before the file itself, so that no file is without.
            let name = beside(&self.whole, "trailer.json");
            let text = serde_json::to_string(trailer)
                .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
            let written = fs::write(&name, text + "\n");
            written.map_err(|error| unwritten(&name, &error))?;
        }
        let renamed = fs::rename(&self.part, &self.whole);
        renamed.map_err(|error| unwritten(&self.whole, &error))
    }
}

/// The file that gets an export's name: behind links, and never a device or a
/// pipe, which a new file would replace.
fn replaceable(whole: &Path) -> Result<PathBuf, Failure> {
    let refused = |why: &str| {
        let file = whole.display();
        Failure::new(Exit::Usage, format!("{file} {why}"))
    };
    match fs::metadata(whole) {
        Ok(there) if there.is_file() => whole
            .canonicalize()
            .map_err(|error| unwritten(whole, &error)),
        Ok(_) => Err(refused(
            "is no regular file: leave --output out, and send standard output there",
        )),
        Err(_) if whole.is_symlink() => Err(refused("is a link that leads nowhere")),
        Err(_) => Ok(whole.to_owned()),
    }
}

/// The name of a file with something after it.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn unwritten(file: &Path, error: &io::Error) -> Failure {
    let file = file.display();
    Failure::new(Exit::Failed, format!("{file} cannot be written: {error}"))
}

fn unprinted(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::reader_left(),
        _ => Failure::new(Exit::Failed, format!("cannot write the output: {error}")),
    }
}
