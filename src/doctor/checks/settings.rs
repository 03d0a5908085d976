//! The settings: which files were read, and whether they are right.

use crate::doctor::{Finding, Place};

const CHECK: &str = "settings";
/// The project's settings file, below its root.
const PROJECT_FILE: &str = ".crewdeck/config.toml";

/// The settings files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsFacts {
    /// The files that were looked for, and whether they are there.
    pub files: Vec<(String, bool)>,
    /// What is wrong in them.
    pub error: Option<String>,
    /// What is right, and does not do what it may be meant for.
    pub warnings: Vec<String>,
    /// Settings of the project that wait for approval.
    pub waiting: Option<String>,
    /// Settings of the project that the user decided to ignore.
    pub ignored: Option<String>,
}

/// Looks at them.
pub fn look(place: &Place) -> Vec<Finding> {
    let facts = &place.settings;
    let warnings = facts.warnings.iter().map(|words| {
        Finding::warn(
            CHECK,
            words.clone(),
            "give the two of them colours that differ more",
        )
    });
    let waiting = facts.waiting.iter().map(|names| {
        Finding::warn(
            CHECK,
            format!("{PROJECT_FILE} sets {names}, which do not apply before you approve them"),
            "read and approve them, or go on without: crewdeck trust",
        )
    });
    let ignored = facts.ignored.iter().map(|names| {
        let text = format!("{PROJECT_FILE} sets {names}, which you decided to ignore");
        Finding::ok(CHECK, text)
    });
    std::iter::once(judge(facts))
        .chain(warnings)
        .chain(waiting)
        .chain(ignored)
        .collect()
}

fn judge(facts: &SettingsFacts) -> Finding {
    if let Some(error) = &facts.error {
        return Finding::fail(
            CHECK,
            error.clone(),
            "mend that file: nothing starts with it as it is",
        );
    }
    let named = |wanted: bool| {
        let files = facts.files.iter().filter(|(_, there)| *there == wanted);
        files.map(|(path, _)| path.as_str()).collect::<Vec<_>>()
    };
    match (named(true), named(false)) {
        (read, missing) if read.is_empty() => Finding::ok(
            CHECK,
            format!("all as built in; {} would be read", missing.join(", then ")),
        ),
        (read, _) => Finding::ok(CHECK, format!("from {}", read.join(", then "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_was_read_and_what_is_wrong() {
        let files = |user, project| SettingsFacts {
            files: vec![
                ("~/c.toml".into(), user),
                (".crewdeck/config.toml".into(), project),
            ],
            ..SettingsFacts::default()
        };
        let text = |facts: &SettingsFacts| judge(facts).text;
        assert_eq!(
            text(&files(false, false)),
            "all as built in; ~/c.toml, then .crewdeck/config.toml would be read"
        );
        assert_eq!(text(&files(false, true)), "from .crewdeck/config.toml");
        assert_eq!(
            text(&files(true, true)),
            "from ~/c.toml, then .crewdeck/config.toml"
        );
        let wrong = SettingsFacts {
            error: Some("unknown setting 'modle': did you mean 'model'?".into()),
            ..files(true, true)
        };
        assert_eq!(judge(&wrong).level, Level::Fail);
    }
}
