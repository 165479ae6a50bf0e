//! Puts the page's WebAssembly, styles and pictures, which `make site` left in
//! `target/site`, into the program, with a word for this version of them.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
};

fn main() {
    // Cargo runs this in the package's folder.
    let site = Path::new("../target/site");
    println!("cargo::rerun-if-changed={}", site.display());
    assert!(
        site.join("pkg/baton_bg.wasm").exists(),
        "there is no page in target/site yet: run `make site` first"
    );
    let mut version = DefaultHasher::new();
    for file in ["baton.css", "baton.js", "baton_bg.wasm"] {
        let bytes = fs::read(site.join("pkg").join(file));
        bytes.expect("make site leaves it there").hash(&mut version);
    }
    println!("cargo::rustc-env=BATON_FILES={:016x}", version.finish());
    memory_serve::load_directory("../target/site");
}
