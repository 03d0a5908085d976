//! Generates the tables of `docs/settings.md` from the declaration of the settings.

use super::setting::{InProject, Setting};
use super::settings::SECTIONS;
use crate::model::provider::ProviderSpec;
use crate::model::providers::{COMPATIBLE, vendors, wires};

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
            ", also for compatible servers"
        } else {
            ""
        };
        format!("`{}` ({}{others})", spec.name, spec.api)
    };
    let names: Vec<String> = vendors().map(|spec| format!("`{}`", spec.name)).collect();
    let meaning = meaning
        .join(" ")
        .replace(
            "{providers}",
            &wires().map(provider).collect::<Vec<_>>().join(", "),
        )
        .replace("{vendors}", &names.join(", "));
    let range = setting
        .range
        .map_or_else(String::new, |range| format!(" From {}.", range()));
    format!(
        "| `{}` | {meaning}{range} | {} | `{}` | {in_project} |\n",
        setting.name, setting.default, setting.example
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Settings;
    use crate::config::settings::{all, find};
    use crate::domain::sandbox::CommandLimits;
    use crate::domain::team::default_agents_max;
    use crate::domain::theme::ThemeName;

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
    fn documented_defaults_are_those_of_the_code() {
        let is_value = |text: &str| !text.contains(' ') && !matches!(text, "none" | "all");
        let lines = all().filter(|s| is_value(s.default)).map(|s| {
            let is_quoted = !s.default.starts_with(|c: char| c.is_ascii_digit())
                && s.default.parse::<bool>().is_err();
            let quote = if is_quoted { "\"" } else { "" };
            format!("{} = {quote}{}{quote}\n", s.name, s.default)
        });
        let documented = Settings::parse(&lines.collect::<String>(), Path::new("config.toml"));
        let unset = Settings::default();
        let effective = Settings {
            compact_at: Some(unset.compact_at()),
            model_timeout_s: Some(unset.model_timeout().as_secs()),
            calls_max: Some(unset.calls_max()),
            calls_without_progress: Some(unset.calls_without_progress()),
            sandbox: Some(unset.sandbox.unwrap_or_default()),
            network: Some(unset.network.unwrap_or_default()),
            tool_timeout_s: Some(unset.tool_timeout().as_secs()),
            tool: Some(unset.approvers().2),
            plan: Some(unset.approvers().0),
            shutdown: Some(unset.approvers().1),
            merge: Some(unset.merge.unwrap_or_default()),
            worktrees: Some(unset.worktrees()),
            idle_timeout_s: unset.idle_timeout().map(|time| time.as_secs()),
            max_tokens: Some(unset.max_tokens()),
            notify: Some(unset.notify.unwrap_or_default()),
            images: Some(unset.images.unwrap_or_default()),
            mouse: Some(unset.mouse()),
            ..Settings::default()
        };
        assert_eq!(documented.unwrap(), effective);
    }

    #[test]
    fn documented_defaults_of_the_machine_are_those_of_the_code() {
        for (name, documented) in [
            (
                "agents_max",
                "8 per CPU core, but at most one per 512 MiB of memory and at least 4",
            ),
            ("processes_max", "256 per CPU core (512 to 4096)"),
            (
                "memory_max_mb",
                "half of the machine's memory, at least 512 MiB",
            ),
        ] {
            assert_eq!(find(name).unwrap().default, documented);
        }
        let agents = |cores, mib| default_agents_max(cores, Some(mib));
        assert_eq!(
            [agents(2, 1 << 20), agents(2, 512 * 10), agents(2, 512)],
            [16, 10, 4]
        );
        let limits = |cores, mib| {
            let limits = CommandLimits::new(None, None, cores, Some(mib));
            (limits.processes.unwrap(), limits.memory_mb.unwrap())
        };
        assert_eq!(
            [limits(1, 600), limits(4, 4096), limits(64, 4096)],
            [(512, 512), (1024, 2048), (4096, 2048)]
        );
    }

    #[test]
    fn documented_limits_for_projects_are_those_of_the_check() {
        let page = include_str!("../../docs/settings.md").replace('\n', " ");
        for (name, highest, documented) in [
            ("max_tokens", 32_768, "`max_tokens` up to 32,768"),
            ("tool_timeout_s", 3600, "`tool_timeout_s` up to 3600"),
        ] {
            let InProject::AppliesIf { is_harmless, .. } = find(name).unwrap().in_project else {
                panic!("{name}")
            };
            let is_harmless = |n: i64| is_harmless(&toml::Value::Integer(n));
            assert!(is_harmless(highest) && !is_harmless(highest + 1), "{name}");
            assert!(page.contains(documented), "{name}");
        }
    }

    #[test]
    fn page_names_every_theme() {
        let page = include_str!("../../docs/settings.md");
        let (_, themes) = page.split_once("## Themes").unwrap();
        for name in ThemeName::ALL.map(ThemeName::word) {
            assert!(themes.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn documented_ranges_are_those_of_the_check() {
        let is_valid = |setting: &Setting, number: i64| {
            let text = format!("{} = {number}", setting.name);
            Settings::parse(&text, Path::new("config.toml")).is_ok()
        };
        let mut ranges = 0;
        for setting in all() {
            let Some(range) = setting.range else { continue };
            let range = range();
            let (low, high) = range.split_once(" to ").unwrap();
            let (low, high): (i64, i64) = (low.parse().unwrap(), high.parse().unwrap());
            let cases = [low - 1, low, high, high + 1].map(|n| is_valid(setting, n));
            assert_eq!(
                cases,
                [false, true, true, false],
                "{}: {range}",
                setting.name
            );
            ranges += 1;
        }
        assert_eq!(ranges, 10);
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
