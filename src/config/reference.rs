//! Generates the tables of `docs/settings.md` from the declaration of the settings.

use super::settings::{InProject, SECTIONS, Setting};
use crate::model::provider::ProviderSpec;
use crate::model::providers::{COMPATIBLE, list};

/// Returns the documentation of all settings as Markdown, with one table for each section.
pub fn markdown() -> String {
    let mut out = String::new();
    for section in SECTIONS {
        out.push_str(&format!(
            "### {}\n\n| setting | meaning | if not set | example | in a project's file |\n|---|---|---|---|---|\n",
            section.title
        ));
        for setting in section.settings {
            out.push_str(&row(setting));
        }
        out.push('\n');
    }
    out
}

fn row(setting: &Setting) -> String {
    let meaning: Vec<&str> = setting.doc.iter().map(|line| line.trim()).collect();
    let in_project = match setting.in_project {
        InProject::Applies => "applies",
        InProject::AppliesIf { .. } => "some values apply, others need approval",
        InProject::NeedsApproval { .. } => "needs approval",
        InProject::Refused { .. } => "refused",
    };
    let provider = |spec: &ProviderSpec| {
        let others = if spec == COMPATIBLE {
            ", also of other servers"
        } else {
            ""
        };
        format!("`{}` ({}{others})", spec.name, spec.api)
    };
    let meaning = meaning
        .join(" ")
        .replace("{providers}", &list(provider, " or "));
    format!(
        "| `{}` | {meaning} | {} | `{}` | {in_project} |\n",
        setting.name, setting.default, setting.example
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Settings;
    use crate::config::settings::all;

    const BEGIN: &str = "<!-- The tables below are written by `UPDATE_DOCS=1 cargo test --lib config::reference`. -->\n\n";
    const END: &str = "<!-- End of the tables. -->";

    #[test]
    fn settings_page_lists_every_setting() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/settings.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let wanted = format!("{before}{BEGIN}{}{END}{after}", markdown());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &wanted).unwrap();
        }
        assert!(
            page == wanted || std::env::var_os("UPDATE_DOCS").is_some(),
            "docs/settings.md is out of date: run UPDATE_DOCS=1 cargo test --lib config::reference"
        );
    }

    #[test]
    fn every_example_is_a_valid_setting() {
        for setting in all() {
            let text = format!("{} = {}", setting.name, setting.example);
            let parsed = Settings::parse(&text, Path::new("config.toml"));
            assert!(
                parsed.as_ref().is_ok_and(|s| *s != Settings::default()),
                "{text}: {parsed:?}"
            );
        }
    }
}
