//! Explains the rules of the kernel language by their codes.
//!
//! *Not here*: the texts, which stand beside the rules in `tile_ir::error`.

use tile_ir::error::Code;

/// No rule has the code; the message lists those that exist.
#[derive(Debug, thiserror::Error)]
#[error("no rule has the code `{asked}`; there are: {}", Code::ALL.iter().map(|c| c.as_str()).collect::<Vec<_>>().join(", "))]
pub struct UnknownCode {
    /// Code asked for.
    pub asked: String,
}

/// Returns the title and the explanation of the rule `code`; upper and lower case are the same.
///
/// # Errors
/// When there is no such rule.
pub fn text(code: &str) -> Result<String, UnknownCode> {
    Code::ALL
        .iter()
        .find(|known| known.as_str().eq_ignore_ascii_case(code.trim()))
        .map(|known| format!("{}: {}\n\n{}\n", known.as_str(), known.title(), known.explain()))
        .ok_or_else(|| UnknownCode { asked: code.to_owned() })
}

/// Returns every code with its title, one a line.
pub fn list() -> String {
    Code::ALL.iter().map(|code| format!("{}  {}\n", code.as_str(), code.title())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_explained_and_others_are_refused() {
        for code in Code::ALL {
            let text = text(&code.as_str().to_lowercase()).expect("a rule");
            assert!(text.starts_with(code.as_str()) && text.contains(code.title()), "{text}");
        }
        assert!(text("T9999").expect_err("no such rule").to_string().contains("T001"));
        assert_eq!(list().lines().count(), Code::ALL.len());
    }
}
