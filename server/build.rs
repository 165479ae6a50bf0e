//! Puts the page's WebAssembly, styles and pictures, which `make site` left in
//! `target/site`, into the program.

use std::path::Path;

fn main() {
    // Cargo runs this in the package's folder.
    let site = Path::new("../target/site");
    println!("cargo::rerun-if-changed={}", site.display());
    assert!(
        site.join("pkg/baton_bg.wasm").exists(),
        "there is no page in target/site yet: run `make site` first"
    );
    memory_serve::load_directory("../target/site");
}
