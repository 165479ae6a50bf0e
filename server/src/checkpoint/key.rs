//! The key that checkpoints are signed with: a file that only its owner reads,
//! made when it is first used.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or made.
    #[error("the key file {0} cannot be read or made")]
    Io(PathBuf, #[source] io::Error),
    /// Others can read it, so what it signs proves nothing.
    #[error("others can read the key file {0}: it must be its owner's alone (chmod 600)")]
    Open(PathBuf),
    /// It holds no key of this kind.
    #[error("the key file {0} holds no Ed25519 key in PKCS#8, as PEM")]
    Malformed(PathBuf),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a key")]
    Random,
}

/// A key to sign with.
pub struct Key {
    pair: Ed25519KeyPair,
}

impl Key {
    /// The key in a file; a new one if there is no such file, and whether it is.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn open(file: &Path) -> Result<(Self, bool), KeyError> {
        if !file.exists() {
            make(file)?;
            return Ok((Self::read(file)?, true));
        }
        Ok((Self::read(file)?, false))
    }

    fn read(file: &Path) -> Result<Self, KeyError> {
        let failed = |error| KeyError::Io(file.to_owned(), error);
        let mode = fs::metadata(file).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(KeyError::Open(file.to_owned()));
        }
        let text = fs::read_to_string(file).map_err(failed)?;
        let malformed = || KeyError::Malformed(file.to_owned());
        let inner = text.trim().strip_prefix(BEGIN);
        let inner = inner.and_then(|rest| rest.strip_suffix(END));
        let letters: String = inner.ok_or_else(malformed)?.split_whitespace().collect();
        let der = STANDARD.decode(letters).map_err(|_| malformed())?;
        // Other programs leave the public key out, which is no harm.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| malformed())?;
        Ok(Self { pair })
    }

    /// The public key, in lower-case hex.
    pub fn public(&self) -> String {
        hex::encode(self.pair.public_key())
    }

    /// The signature of a text, in lower-case hex.
    pub fn sign(&self, text: &[u8]) -> String {
        hex::encode(self.pair.sign(text))
    }
}

/// Makes a key file, whole or not at all; somebody else's that is faster stays.
fn make(file: &Path) -> Result<(), KeyError> {
    let failed = |error| KeyError::Io(file.to_owned(), error);
    let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::Random)?;
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(name);
    let written = File::options()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut opened| {
            writeln!(opened, "{BEGIN}\n{}\n{END}", STANDARD.encode(der.as_ref()))?;
            opened.sync_all()
        });
    let linked = written.and_then(|()| match fs::hard_link(&new, file) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    let removed = fs::remove_file(&new);
    linked.and(removed).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        let (first, made) = Key::open(&file).expect("it can be made");
        assert!(made);
        let mode = fs::metadata(&file)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let (again, made) = Key::open(&file).expect("it can be read");
        assert!(!made);
        assert_eq!(first.public(), again.public());
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);

        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
        assert!(matches!(Key::open(&file), Err(KeyError::Open(_))));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
        fs::write(&file, "no key").expect("it is ours");
        assert!(matches!(Key::open(&file), Err(KeyError::Malformed(_))));
        let nowhere = folder.path().join("no/folder/key");
        assert!(matches!(Key::open(&nowhere), Err(KeyError::Io(..))));
    }
}
