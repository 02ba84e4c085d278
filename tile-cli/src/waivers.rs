//! Waivers: findings that are known bugs of an outside tool.
//!
//! *Guarantees*: a waiver excuses one rule, with one message, of one tool version; a row that excuses nothing any
//! more is reported, so the list can only hold what is needed. *Not here*: the rows (`waivers.toml`).

use serde::Deserialize;

use crate::tools::Tools;
use crate::verify::{Finding, Rule};

/// One row of `waivers.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// What it excuses.
    pub rule: Rule,
    /// Whose bug it is: `spirv-val` or `igc`.
    pub tool: String,
    /// Package version that has the bug.
    pub version: String,
    /// Text the finding's message must contain.
    pub contains: String,
    /// The only kernel it applies to.
    pub kernel: Option<String>,
    /// The only device it applies to.
    pub device: Option<String>,
    /// Why it is the tool's fault.
    pub reason: String,
    /// When the row must go.
    pub remove_when: String,
}

/// All waivers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waivers {
    /// The rows in file order.
    #[serde(default, rename = "waiver")]
    pub rows: Vec<Waiver>,
}

/// The waiver file is not what its heading describes.
#[derive(Debug, thiserror::Error)]
pub enum WaiverError {
    /// Not the TOML expected.
    #[error("waivers.toml: {0}")]
    Format(#[from] toml::de::Error),
    /// A field that must say something is empty.
    #[error("waivers.toml: row {row} has an empty `{field}`")]
    Empty {
        /// Row, counted from 1.
        row: usize,
        /// Name of the field.
        field: &'static str,
    },
    /// The tool is not one of those the gate runs.
    #[error("waivers.toml: row {row} names the tool `{tool}`; it must be `spirv-val` or `igc`")]
    UnknownTool {
        /// Row, counted from 1.
        row: usize,
        /// Name given.
        tool: String,
    },
}

impl Waivers {
    /// Reads the committed rows.
    ///
    /// # Errors
    /// When the file is malformed or a row lacks its reasons.
    pub fn committed() -> Result<Waivers, WaiverError> {
        Waivers::parse(include_str!("../waivers.toml"))
    }

    /// Reads rows from `text`.
    ///
    /// # Errors
    /// When the text is malformed or a row lacks its reasons.
    pub fn parse(text: &str) -> Result<Waivers, WaiverError> {
        let waivers: Waivers = toml::from_str(text)?;
        for (index, waiver) in waivers.rows.iter().enumerate() {
            let row = index + 1;
            // An empty `contains` would excuse every message of the rule.
            let fields = [
                ("version", &waiver.version),
                ("contains", &waiver.contains),
                ("reason", &waiver.reason),
                ("remove_when", &waiver.remove_when),
            ];
            if let Some((field, _)) = fields.iter().find(|(_, value)| value.trim().is_empty()) {
                return Err(WaiverError::Empty { row, field });
            }
            if !matches!(waiver.tool.as_str(), "spirv-val" | "igc") {
                return Err(WaiverError::UnknownTool { row, tool: waiver.tool.clone() });
            }
        }
        Ok(waivers)
    }

    /// Returns the index of the row that excuses `finding`, if any.
    pub fn excuse(
        &self,
        tools: &Tools,
        finding: &Finding,
        kernel: &str,
        device: Option<&str>,
    ) -> Option<usize> {
        self.rows.iter().position(|waiver| {
            waiver.rule == finding.rule
                && finding.message.contains(&waiver.contains)
                && waiver.kernel.as_deref().is_none_or(|only| only == kernel)
                && waiver.device.as_deref().is_none_or(|only| Some(only) == device)
                && tools.version_of(&waiver.tool) == Some(waiver.version.as_str())
        })
    }

    /// Describes every row that is not in `used`: it must be removed or renewed.
    pub fn unneeded(&self, tools: &Tools, used: &[usize]) -> Vec<String> {
        let unused = self.rows.iter().enumerate().filter(|(index, _)| !used.contains(index));
        unused
            .map(|(index, waiver)| {
                let installed = tools.version_of(&waiver.tool).unwrap_or("unknown");
                let row = index + 1;
                if installed == waiver.version {
                    format!("waiver {row} ({}, {}) is no longer needed; remove it", waiver.rule, waiver.contains)
                } else {
                    format!(
                        "waiver {row} ({}, {}) is for {} {}, installed is {installed}; check it again, then renew or \
                         remove it",
                        waiver.rule, waiver.contains, waiver.tool, waiver.version
                    )
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "[[waiver]]\nrule = \"spirv-val\"\ntool = \"spirv-val\"\nversion = \"2026.4\"\n\
        contains = \"CacheControl\"\nreason = \"r\"\nremove_when = \"w\"\n";

    fn tools(version: &str) -> Tools {
        Tools {
            ocloc: "/o".into(),
            spirv_val: "/v".into(),
            spirv_as: "/a".into(),
            versions: vec![("spirv-tools".into(), version.into())],
        }
    }

    fn finding(rule: Rule, message: &str) -> Finding {
        Finding { rule, message: message.into() }
    }

    #[test]
    fn the_committed_file_is_well_formed() {
        Waivers::committed().expect("waivers.toml parses");
    }

    #[test]
    fn a_waiver_excuses_its_own_finding_only() {
        let waivers = Waivers::parse(ROW).expect("well formed");
        let excuse = |version: &str, f: Finding| waivers.excuse(&tools(version), &f, "gemm", None).is_some();
        assert!(excuse("2026.4", finding(Rule::Validate, "two CacheControl decorations")));
        assert!(!excuse("2026.4", finding(Rule::Validate, "something else")));
        assert!(!excuse("2026.4", finding(Rule::Build, "CacheControl")));
        assert!(!excuse("2026.5", finding(Rule::Validate, "CacheControl")));
        let elsewhere = Waivers::parse(&format!("{ROW}kernel = \"other\"\n")).expect("well formed");
        let f = finding(Rule::Validate, "CacheControl");
        assert_eq!(elsewhere.excuse(&tools("2026.4"), &f, "gemm", None), None);
        assert_eq!(elsewhere.excuse(&tools("2026.4"), &f, "other", None), Some(0));
    }

    #[test]
    fn an_unused_row_is_reported_and_a_used_one_is_not() {
        let waivers = Waivers::parse(ROW).expect("well formed");
        assert!(waivers.unneeded(&tools("2026.4"), &[])[0].contains("no longer needed"));
        assert!(waivers.unneeded(&tools("2026.5"), &[])[0].contains("installed is 2026.5"));
        assert!(waivers.unneeded(&tools("2026.4"), &[0]).is_empty());
    }

    #[test]
    fn a_row_without_its_reasons_is_refused() {
        assert!(matches!(
            Waivers::parse(&ROW.replace("contains = \"CacheControl\"", "contains = \" \"")),
            Err(WaiverError::Empty { row: 1, field: "contains" })
        ));
        assert!(Waivers::parse(&ROW.replace("reason = \"r\"\n", "")).is_err());
        assert!(Waivers::parse(&ROW.replace("rule = \"spirv-val\"", "rule = \"luck\"")).is_err());
        assert!(matches!(
            Waivers::parse(&ROW.replace("tool = \"spirv-val\"", "tool = \"gcc\"")),
            Err(WaiverError::UnknownTool { .. })
        ));
    }
}
