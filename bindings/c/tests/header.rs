//! The committed header is the one that the source gives.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let source = folder.join("src/lib.rs");
    let made = cbindgen::Builder::new()
        .with_src(source)
        .with_config(config)
        .generate()
        .unwrap();
    let mut text = Vec::new();
    made.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let header = folder.join("include/fabproj.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&header, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&header).unwrap_or_default();
    assert!(
        committed.replace("\r\n", "\n") == text,
        "{} is out of date: run this test with UPDATE_HEADER=1",
        header.display()
    );
}
