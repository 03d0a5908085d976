//! Checks the settings: which files were read, and whether they are valid.

use crate::doctor::{DoctorContext, Finding};

const CHECK: &str = "settings";
const PROJECT_FILE: &str = ".crewdeck/config.toml";

/// What the caller of [`crate::doctor::examine`] found out about the settings files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsFacts {
    /// The paths of the settings files, in the order in which crewdeck reads them, and whether each exists.
    pub files: Vec<(String, bool)>,
    pub error: Option<String>,
    /// Warnings about theme colours that are hard to tell apart.
    pub warnings: Vec<String>,
    /// Names of the project settings that wait for the user's approval, separated by commas; `None` if there are none.
    pub waiting: Option<String>,
    /// Names of the project settings that the user decided to ignore, separated by commas; `None` if there are none.
    pub ignored: Option<String>,
    /// The size of all worktrees, in bytes, above which the check of worktrees warns; `None` if there is no limit.
    pub worktree_disk_limit: Option<u64>,
    /// The number of valid MCP servers and the number of valid hooks, whether approved or not.
    pub extensions: (usize, usize),
    /// What is wrong in the files of MCP servers and hooks.
    pub extension_problems: Vec<String>,
    /// The notice about servers and hooks of the project that wait for the user's approval; `None` if none waits.
    pub waiting_extensions: Option<String>,
    /// The first servers and hooks of the project that wait for approval, each with its file and what it would run. The
    /// caller limits their number and length.
    pub waiting_items: Vec<String>,
}

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    let facts = &context.settings;
    let warnings = facts
        .warnings
        .iter()
        .map(|words| Finding::warn(CHECK, words.clone(), "choose two colours that differ more"));
    let waiting = facts.waiting.iter().map(|names| {
        Finding::warn(
            CHECK,
            format!("{PROJECT_FILE} sets {names}, which do not apply until you approve them"),
            "review them: crewdeck trust",
        )
    });
    let ignored = facts.ignored.iter().map(|names| {
        let text = format!("{PROJECT_FILE} sets {names}, which you decided to ignore");
        Finding::ok(CHECK, text)
    });
    let extensions = match facts.extensions {
        (0, 0) => None,
        (servers, hooks) => Some(Finding::ok(
            CHECK,
            format!("MCP servers: {servers}, hooks: {hooks}"),
        )),
    };
    let problems = facts
        .extension_problems
        .iter()
        .map(|text| Finding::warn(CHECK, text.clone(), "fix that file; the rest of it is used"));
    let waiting_extensions = facts
        .waiting_extensions
        .iter()
        .map(|text| Finding::warn(CHECK, text.clone(), "review them: crewdeck trust"));
    let waiting_items = facts.waiting_items.iter().map(|item| {
        let text = format!("not approved: {item}");
        Finding::warn(CHECK, text, "review it: crewdeck trust")
    });
    std::iter::once(evaluate(facts))
        .chain(warnings)
        .chain(waiting)
        .chain(ignored)
        .chain(extensions)
        .chain(problems)
        .chain(waiting_extensions)
        .chain(waiting_items)
        .collect()
}

fn evaluate(facts: &SettingsFacts) -> Finding {
    if let Some(error) = &facts.error {
        return Finding::fail(
            CHECK,
            error.clone(),
            "fix that file: crewdeck does not start until it is valid",
        );
    }
    let named = |wanted: bool| {
        let files = facts.files.iter().filter(|(_, there)| *there == wanted);
        files.map(|(path, _)| path.as_str()).collect::<Vec<_>>()
    };
    match (named(true), named(false)) {
        (read, missing) if read.is_empty() => Finding::ok(
            CHECK,
            format!("defaults; no settings file at {}", missing.join(" or ")),
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
    fn settings_files_and_errors_are_reported() {
        let files = |user, project| SettingsFacts {
            files: vec![
                ("~/c.toml".into(), user),
                (".crewdeck/config.toml".into(), project),
            ],
            ..SettingsFacts::default()
        };
        let text = |facts: &SettingsFacts| evaluate(facts).text;
        assert_eq!(
            text(&files(false, false)),
            "defaults; no settings file at ~/c.toml or .crewdeck/config.toml"
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
        assert_eq!(evaluate(&wrong).level, Level::Fail);
    }
}
