//! Parses settings files, and explains what is wrong with an invalid one.

use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::settings::{self, Settings};
use crate::domain::text::closest_match;

impl Settings {
    /// Parses the text of a settings file. Error messages name `path`.
    ///
    /// # Errors
    /// Returns an error that names the file and the problem; for an unknown setting also the closest known one.
    pub fn parse(text: &str, path: &Path) -> Result<Settings> {
        let shown = path.display();
        let table: toml::Table =
            toml::from_str(text).map_err(|e| anyhow!("{shown} is not valid TOML: {e}"))?;
        if let Some(why) = unknown(&table) {
            bail!("{shown}: {why}");
        }
        let settings: Settings =
            toml::from_str(text).map_err(|e| anyhow!("{shown}: {}", e.to_string().trim_end()))?;
        settings.check().map_err(|why| anyhow!("{shown}: {why}"))?;
        Ok(settings)
    }
}

/// Returns a message about the first unknown setting, with the closest known one; `None` if all settings are known.
fn unknown(table: &toml::Table) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let Some(setting) = settings::find(name) else {
            let known: Vec<&str> = settings::all().map(|s| s.name).collect();
            return Some(unknown_text(name, name, &known));
        };
        let inner = value.as_table().filter(|_| !setting.keys.is_empty())?;
        let key = inner
            .keys()
            .find(|key| !setting.keys.contains(&key.as_str()))?;
        Some(unknown_text(&format!("{name}.{key}"), key, setting.keys))
    })
}

fn unknown_text(full: &str, key: &str, known: &[&str]) -> String {
    match closest_match(key, known) {
        Some(nearest) => format!("unknown setting '{full}': did you mean '{nearest}'?"),
        None => format!("unknown setting '{full}': use one of {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::request::Approver;
    use crate::domain::sandbox::{Network, NetworkRules};

    fn parse(text: &str) -> Result<Settings> {
        Settings::parse(text, Path::new("config.toml"))
    }

    #[test]
    fn former_names_of_settings_are_accepted() {
        let current = parse("sandbox = 'files'\n[budget]\nteam_cost = 2.0").unwrap();
        let former = parse("confine = 'files'\n[ceilings]\nteam_cost = 2.0").unwrap();
        assert_eq!(former, current);
        assert_eq!(former.budget.team_cost, Some(2.0));
        let both = parse("sandbox = 'files'\nconfine = 'off'").unwrap_err();
        assert!(both.to_string().contains("sandbox"), "{both}");
    }

    #[test]
    fn errors_name_the_file_the_problem_and_the_closest_setting() {
        for (text, hint) in [
            (
                "modle = 'x'",
                "unknown setting 'modle': did you mean 'model'?",
            ),
            (
                "[anthropic]\nversoin = 'x'",
                "unknown setting 'anthropic.versoin': did you mean 'version'?",
            ),
            ("compact_at = 100", "compact_at is 100: give a percentage"),
            (
                "write = ['target']",
                "write names 'target': give absolute paths",
            ),
            ("write = ['/']", "write names '/': give absolute paths"),
            (
                "allow = ['mcp__s__t(answer)']",
                "allow names 'mcp__s__t(answer)': write arguments as in",
            ),
            ("write = '~/.cargo'", "expected a sequence"),
            ("sandbox = 'no'", "expected one of `on`, `files`, `off`"),
            ("sandbx = 'off'", "did you mean 'sandbox'?"),
            ("network = 'no'", "network is \"on\", \"off\" or \"ask\""),
            ("[network]\nmate = 'off'", "unknown setting 'network.mate'"),
            ("sockets = ['sssh']", "unknown variant `sssh`"),
            ("calls_max = 0", "calls_max is 0: give a number from 1"),
            (
                "agents_max = 501",
                "agents_max is 501: give a number from 1 to 500",
            ),
            (
                "[budget]\nteam_token = 5",
                "unknown setting 'budget.team_token': did you mean 'team_tokens'?",
            ),
            (
                "[budget]\nagent_cost = -0.5",
                "budget.agent_cost is -0.5: give a number above 0",
            ),
            ("[budget]\nteam_tokens = 0", "budget.team_tokens is 0: give"),
            ("zzz = 1", "unknown setting 'zzz': use one of base_url"),
            ("plan = 'maybe'", "expected one of"),
            (
                "[themes.mine]\ntitel = 'red'",
                "unknown setting 'themes.mine.titel': did you mean 'title'?",
            ),
            (
                "[themes.mine]\nok = 256",
                "themes.mine.ok: there is no colour '256': give a name",
            ),
            (
                "[themes.mine]\nok = true",
                "a color must be a string such as \"#ffcc00\", or a number",
            ),
            ("model = ", "not valid TOML"),
            ("[prices.m]\ninput = 1.0\noutput = 2.0\ncahce = 1", "cahce"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(
                error.starts_with("config.toml") && error.contains(hint),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn network_can_be_set_for_all_roles_or_per_role() {
        let network = |text| parse(text).unwrap().network.unwrap();
        assert_eq!(network("network = 'off'"), NetworkRules::all(Network::Off));
        let each = network("[network]\nteammate = 'ask'");
        assert_eq!((each.lead, each.teammate), (Network::On, Network::Ask));
    }

    #[test]
    fn project_overrides_user_and_prices_are_merged() {
        let user = parse("model='a'\nwindow=5\n[prices.a]\ninput=1.0\noutput=2.0").unwrap();
        let project = parse("model='b'\nplan='auto'\n[prices.b]\ninput=3.0\noutput=4.0").unwrap();
        let both = user.overlaid(project);
        assert_eq!((both.model.as_deref(), both.window), (Some("b"), Some(5)));
        assert_eq!((both.plan, both.prices.len()), (Some(Approver::Auto), 2));
    }
}
