//! The program `norms` on the host: it checks itself, and the norm is what makes the answers right.

use tile_std::Device;

#[test]
fn the_norm_finds_digits_in_any_light() {
    let mut out = vec![];
    examples::norms::run(&Device::host(), &mut out).unwrap_or_else(|e| panic!("{e}"));
    let text = String::from_utf8(out).expect("plain text");
    let right = |line: &str| -> usize {
        let line = text.lines().find(|l| l.starts_with(line)).unwrap_or_else(|| panic!("{line}: {text}"));
        let words = line.rsplit(':').next().expect("there is a colon").split_whitespace();
        words.filter_map(|word| word.parse().ok()).next().expect("a number of right answers")
    };
    let (plain, normed) = (right("largest product"), right("largest correlation"));
    assert!(plain < 300 && normed > 740, "{text}");
}
