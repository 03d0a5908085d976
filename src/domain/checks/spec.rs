//! The setting `checks`: what a check is, and which mistakes are rejected.

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

use super::record::{ACCEPTANCE, CHANGES};
use crate::domain::text::{clip, one_line};

/// Maximum number of checks.
pub const CHECKS_MAX: usize = 20;
/// The fields of a check in the settings.
pub const CHECK_FIELDS: &[&str] = &["name", "run", "tags", "paths", "timeout_s", "retry"];
/// Maximum length of the name of a check, in characters.
const NAME_MAX: usize = 32;
/// Maximum length of a command, in bytes.
const RUN_MAX: usize = 4096;
/// Maximum number of tags, and of path patterns, of one check.
const SELECTORS_MAX: usize = 50;
/// Maximum length of a path pattern, in bytes.
const PATTERN_MAX: usize = 512;
/// The time limit of a check without the field `timeout_s`, in seconds.
const TIMEOUT_DEFAULT: u64 = 600;
/// The highest time limit of a check, in seconds.
const TIMEOUT_MAX: u64 = 14_400;

/// A check in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    pub name: String,
    /// The command, which a shell runs in the worktree of the task.
    pub run: String,
    /// The check applies to tasks with one of these tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The check applies to tasks whose branch changes a file that matches one of these patterns.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Maximum run time, in seconds.
    #[serde(default = "default_timeout")]
    pub timeout_s: u64,
    /// Whether a failed run is repeated once before it counts.
    #[serde(default)]
    pub retry: bool,
}

fn default_timeout() -> u64 {
    TIMEOUT_DEFAULT
}

impl CheckSpec {
    /// Returns the acceptance command of a task as a check that applies to every task.
    pub fn acceptance(run: &str) -> CheckSpec {
        CheckSpec {
            name: ACCEPTANCE.into(),
            run: run.into(),
            tags: Vec::new(),
            paths: Vec::new(),
            timeout_s: TIMEOUT_DEFAULT,
            retry: false,
        }
    }

    /// Returns whether the path `path`, relative to the project root, matches one of the patterns. A pattern that is not
    /// valid matches every path; [`check_specs`] rejects such a pattern.
    pub fn matches_path(&self, path: &str) -> bool {
        self.paths
            .iter()
            .any(|pattern| matcher(pattern).map_or(true, |glob| glob.is_match(path)))
    }
}

/// Compiles a pattern in which `*` does not match `/`. A pattern that ends with `/` matches everything below the folder.
fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let whole = match pattern.strip_suffix('/') {
        Some(folder) => format!("{folder}/**"),
        None => pattern.to_string(),
    };
    let glob = GlobBuilder::new(&whole)
        .literal_separator(true)
        .build()
        .map_err(|why| why.kind().to_string())?;
    Ok(glob.compile_matcher())
}

/// Checks the checks of one settings file.
///
/// # Errors
/// Returns a message that the caller appends to the name of the setting.
pub fn check_specs(specs: &[CheckSpec]) -> Result<(), String> {
    if specs.len() > CHECKS_MAX {
        return Err(format!(
            " has {} entries: at most {CHECKS_MAX} are possible",
            specs.len()
        ));
    }
    for (index, spec) in specs.iter().enumerate() {
        check_name(&spec.name)?;
        let is_same = |other: &CheckSpec| other.name.eq_ignore_ascii_case(&spec.name);
        if specs.iter().take(index).any(is_same) {
            return Err(format!(
                " has two entries named '{}': give each check a name of its own",
                spec.name
            ));
        }
        check_fields(spec).map_err(|why| format!(".{}.{why}", spec.name))?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    let shown = one_line(&clip(name, NAME_MAX));
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins_well || name.len() > NAME_MAX || !name.chars().all(is_valid) {
        return Err(format!(
            " has an entry named '{shown}': use the characters a to z, A to Z, 0 to 9, '-' and '_', at most {NAME_MAX}"
        ));
    }
    let is_reserved = |reserved: &&str| name.eq_ignore_ascii_case(reserved);
    if [CHANGES, ACCEPTANCE].iter().any(is_reserved) {
        return Err(format!(
            " has an entry named '{shown}': crewdeck uses this name itself, choose another one"
        ));
    }
    Ok(())
}

fn check_fields(spec: &CheckSpec) -> Result<(), String> {
    if spec.run.trim().is_empty() {
        return Err("run is empty: give the command, such as \"cargo test\"".into());
    }
    if spec.run.len() > RUN_MAX {
        return Err(format!(
            "run has {} bytes: at most {RUN_MAX} are possible, put the command into a script",
            spec.run.len()
        ));
    }
    if !(1..=TIMEOUT_MAX).contains(&spec.timeout_s) {
        return Err(format!(
            "timeout_s is {}: give a number from 1 to {TIMEOUT_MAX}",
            spec.timeout_s
        ));
    }
    for (field, list) in [("tags", &spec.tags), ("paths", &spec.paths)] {
        if list.len() > SELECTORS_MAX {
            return Err(format!(
                "{field} has {} entries: at most {SELECTORS_MAX} are possible",
                list.len()
            ));
        }
        if list.iter().any(|text| text.trim().is_empty()) {
            return Err(format!("{field} has an empty entry: remove it"));
        }
    }
    for pattern in &spec.paths {
        let shown = one_line(&clip(pattern, 80));
        if pattern.len() > PATTERN_MAX {
            return Err(format!(
                "paths has '{shown}…' with {} bytes: at most {PATTERN_MAX} are possible",
                pattern.len()
            ));
        }
        let is_below = pattern.starts_with('/') || pattern.split('/').any(|part| part == "..");
        if is_below {
            return Err(format!(
                "paths has '{shown}': give paths below the project root, such as \"src/**\""
            ));
        }
        matcher(pattern)
            .map_err(|why| format!("paths has '{shown}', which is no valid pattern: {why}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> CheckSpec {
        CheckSpec {
            name: name.into(),
            ..CheckSpec::acceptance("true")
        }
    }

    #[test]
    fn mistakes_are_rejected_with_the_field_and_the_remedy() {
        type Mistake = fn(&mut CheckSpec);
        let with = |change: Mistake| {
            let mut found = spec("test");
            change(&mut found);
            check_specs(&[found]).unwrap_err()
        };
        let cases: [(Mistake, &str); 10] = [
            (|s| s.name = "a b".into(), "an entry named 'a b': use"),
            (|s| s.name = String::new(), "an entry named '': use"),
            (|s| s.name = "Changes".into(), "uses this name itself"),
            (|s| s.run = " ".into(), ".test.run is empty"),
            (|s| s.run = "x".repeat(5000), ".test.run has 5000 bytes"),
            (
                |s| s.timeout_s = 0,
                ".test.timeout_s is 0: give a number from 1 to 14400",
            ),
            (
                |s| s.tags = vec![String::new()],
                ".test.tags has an empty entry",
            ),
            (
                |s| s.paths = vec!["/etc/**".into()],
                "below the project root",
            ),
            (
                |s| s.paths = vec!["a/../../b".into()],
                "below the project root",
            ),
            (
                |s| s.paths = vec!["src/[".into()],
                "which is no valid pattern",
            ),
        ];
        for (change, expected) in cases {
            let why = with(change);
            assert!(why.contains(expected), "{why}");
        }
        let twice = check_specs(&[spec("a"), spec("A")]).unwrap_err();
        assert!(twice.contains("two entries named 'A'"), "{twice}");
        let many: Vec<CheckSpec> = (0..=CHECKS_MAX).map(|n| spec(&n.to_string())).collect();
        assert!(check_specs(&many).is_err());
        assert_eq!(check_specs(&many[1..]), Ok(()));
    }

    #[test]
    fn patterns_match_below_folders_but_not_across_them() {
        let mut found = spec("test");
        found.paths = vec!["src/*.rs".into(), "docs/".into(), "**/*.py".into()];
        for (path, expected) in [
            ("src/a.rs", true),
            ("src/deep/a.rs", false),
            ("docs/a/b.md", true),
            ("docs", false),
            ("x.py", true),
            ("a/b/x.py", true),
            ("README.md", false),
        ] {
            assert_eq!(found.matches_path(path), expected, "{path}");
        }
    }
}
