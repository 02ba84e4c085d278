//! The language reference in the repository is what the tables give. `TILE_BLESS=1` writes it anew.

use std::path::Path;

use tile_cli::reference::{PATH, text};
use tile_ir::error::Code;
use tile_ir::ops::list::all;

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PATH);
    let text = text();
    if std::env::var_os("TILE_BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, &text).expect("writable");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let line = text.lines().zip(found.lines()).position(|(a, b)| a != b);
    assert!(
        found == text,
        "{PATH} is not what the tables give, from line {} on; `cargo tile reference --write` writes it",
        line.map_or_else(|| "the end".into(), |n| (n + 1).to_string())
    );
}

#[test]
fn the_reference_has_every_op_and_every_rule() {
    let text = text();
    for op in all() {
        for call in op.calls.iter().filter(|c| c.chars().all(|c| c.is_alphanumeric() || c == '_')) {
            assert!(text.contains(call.as_str()), "`{call}` is missing");
        }
        assert!(text.contains(op.doc.replace('|', "\\|").as_str()), "the text of `{}` is missing", op.name);
    }
    for code in Code::ALL {
        assert!(text.contains(&format!("### {}: {}", code.as_str(), code.title())), "{code} is missing");
    }
}
