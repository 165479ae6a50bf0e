//! Who this process is, when nobody says.

/// `user@host/pid-random`: unique per process, so that a second one with the
/// same user and host is never taken for the first.
pub fn default_holder() -> String {
    let user = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok())
        .and_then(|user| printable(&user))
        .unwrap_or_else(|| "someone".into());
    let host = ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .into_iter()
        .find_map(|file| std::fs::read_to_string(file).ok())
        .or_else(|| std::env::var("HOSTNAME").ok())
        .and_then(|host| printable(&host))
        .unwrap_or_else(|| "somewhere".into());
    let random: u32 = rand::random();
    format!("{user}@{host}/{}-{random:08x}", std::process::id())
}

fn printable(text: &str) -> Option<String> {
    let text: String = text
        .trim()
        .chars()
        .filter(|c| !c.is_control())
        .take(100)
        .collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use baton_client::HolderId;

    use super::*;

    #[test]
    fn it_is_a_holder_and_never_the_same_twice() {
        assert!(default_holder().parse::<HolderId>().is_ok());
        assert_ne!(default_holder(), default_holder());
    }
}
