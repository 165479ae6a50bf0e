//! Where a server is, checked once.

use std::net::IpAddr;

use reqwest::Url;

use super::ClientError;

/// The address that calls are built on: `http` or `https`, a host, perhaps a
/// path in front of `/api/v1`.
pub(super) fn parse_base(text: &str) -> Result<Url, ClientError> {
    let bad = || ClientError::Address(text.to_owned());
    let url = Url::parse(text.trim()).map_err(|_| bad())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ClientError::Credentials);
    }
    let plain = url.query().is_none() && url.fragment().is_none();
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain {
        return Err(bad());
    }
    Ok(url)
}

/// Whether the server is on this machine.
pub(super) fn is_loopback(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_machine_is_known() {
        for (address, own) in [
            ("http://127.0.0.1:7400", true),
            ("http://[::1]:7400", true),
            ("http://localhost", true),
            ("http://localhost.example", false),
            ("http://10.0.0.1", false),
        ] {
            let base = Url::parse(address).expect("an address");
            assert_eq!(is_loopback(&base), own, "{address}");
        }
    }
}
