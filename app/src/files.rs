//! Where the files are that pages load: the sheet, the script and the WebAssembly.

use std::sync::OnceLock;

/// Which version of them this program carries.
static VERSION: OnceLock<String> = OnceLock::new();

/// Says which version of the files the program carries, once, before any page is
/// rendered. From then on pages name it in the files' addresses: what an address
/// answers never changes, and a browser need not ask for it again.
pub fn carry(version: &str) {
    VERSION.get_or_init(|| version.to_owned());
}

/// What follows a file's path in an address of this version.
fn query() -> String {
    let version = VERSION.get();
    version.map_or_else(String::new, |version| format!("?v={version}"))
}

/// The sheet.
pub(crate) fn css() -> String {
    format!("/pkg/baton.css{}", query())
}

/// The script that loads the WebAssembly.
pub(crate) fn js() -> String {
    format!("/pkg/baton.js{}", query())
}

/// The WebAssembly.
pub(crate) fn wasm() -> String {
    format!("/pkg/baton_bg.wasm{}", query())
}
