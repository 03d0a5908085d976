//! Parses settings files, and explains what is wrong with an invalid one.

use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::setting::Setting;
use super::settings::{self, Settings};
use crate::domain::checks::CHECK_FIELDS;
use crate::domain::named_model;
use crate::domain::text::{clip, closest_match, one_line};

/// Maximum length of the parser's message in an error, in characters.
const MESSAGE_MAX: usize = 500;
/// The types of numbers that the parser's messages name, each with words for users.
const NUMBER_TYPES: [(&str, &str); 4] = [
    ("u64", "a whole number from 0"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("usize", "a whole number from 0"),
    ("f64", "a number"),
];

impl Settings {
    /// Parses the text of a settings file. Error messages name `path`.
    ///
    /// # Errors
    /// Returns an error that names the file and the problem; for an unknown setting also the closest known one.
    pub fn parse(text: &str, path: &Path) -> Result<Settings> {
        let shown = path.display();
        let table: toml::Table = toml::from_str(text).map_err(|e| {
            let (line, why) = (line(text, &e), message(&e));
            anyhow!("{shown} is not valid TOML: {line}{why}")
        })?;
        if let Some(why) = unknown(&table).or_else(|| set_twice(&table)) {
            bail!("{shown}: {why}");
        }
        let settings: Settings = toml::from_str(text).map_err(|e| {
            let (line, why) = (line(text, &e), explain(&table, &e));
            anyhow!("{shown}: {line}{why}")
        })?;
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
        match setting.name {
            "models" => return unknown_field(value),
            "checks" => return unknown_check_field(value),
            _ => {}
        }
        let inner = value.as_table().filter(|_| !setting.keys.is_empty())?;
        let key = inner
            .keys()
            .find(|key| !setting.keys.contains(&key.as_str()))?;
        Some(unknown_text(&format!("{name}.{key}"), key, setting.keys))
    })
}

/// Returns a message about the first unknown field of a named model; `None` if all are known.
fn unknown_field(models: &toml::Value) -> Option<String> {
    models.as_table()?.iter().find_map(|(name, model)| {
        let mut fields = model.as_table()?.keys().map(String::as_str);
        let field = fields.find(|field| !named_model::FIELDS.contains(field))?;
        let full = format!("models.{}.{field}", one_line(&clip(name, 80)));
        Some(unknown_text(&full, field, named_model::FIELDS))
    })
}

/// Returns a message about the first unknown field of a check; `None` if all are known.
fn unknown_check_field(checks: &toml::Value) -> Option<String> {
    checks.as_array()?.iter().find_map(|check| {
        let check = check.as_table()?;
        let mut fields = check.keys().map(String::as_str);
        let field = fields.find(|field| !CHECK_FIELDS.contains(field))?;
        let name = check.get("name").and_then(toml::Value::as_str);
        let full = format!(
            "checks.{}.{field}",
            one_line(&clip(name.unwrap_or("?"), 80))
        );
        Some(unknown_text(&full, field, CHECK_FIELDS))
    })
}

/// Returns a message about a setting that is set by its name and also by its former name; `None` if there is none.
fn set_twice(table: &toml::Table) -> Option<String> {
    settings::all().find_map(|Setting { name, alias, .. }| {
        let alias =
            alias.filter(|alias| table.contains_key(*name) && table.contains_key(*alias))?;
        Some(format!(
            "{name} is set twice, because {alias} is its former name: remove {alias}"
        ))
    })
}

/// Returns the line in which `error` is, such as `line 3: `; empty if it is unknown.
fn line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    before.map_or_else(String::new, |before| {
        format!("line {}: ", before.matches('\n').count() + 1)
    })
}

/// Returns the text of `error` on one line. Replaces the names of Rust number types by words for users, see
/// [`NUMBER_TYPES`].
fn message(error: &toml::de::Error) -> String {
    let mut text = one_line(&clip(error.message(), MESSAGE_MAX)).replace('⏎', ", ");
    for (name, words) in NUMBER_TYPES {
        text = text.replace(&format!("expected {name}"), &format!("expected {words}"));
    }
    text
}

/// Explains `error`, which a value in `table` causes: names the setting and gives an example. Returns only the message of
/// `error` if no top-level setting is invalid on its own.
fn explain(table: &toml::Table, error: &toml::de::Error) -> String {
    let text = message(error);
    let is_wrong = |(name, value): &(&String, &toml::Value)| {
        let alone = toml::Table::from_iter([((*name).clone(), (*value).clone())]);
        alone.try_into::<Settings>().is_err()
    };
    let Some((name, _)) = table.iter().find(is_wrong) else {
        return text;
    };
    // Some messages already begin with the name.
    let text = if text.starts_with(name.as_str()) {
        text
    } else {
        format!("{name}: {text}")
    };
    match settings::find(name) {
        Some(setting) => format!("{text}. Example: {name} = {}", setting.example),
        None => text,
    }
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
        assert_eq!(
            both.to_string(),
            "config.toml: sandbox is set twice, because confine is its former name: remove confine"
        );
    }

    #[test]
    #[allow(clippy::too_many_lines)] // one table of mistakes
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
            (
                "[[checks]]\nname = 'test'\ntimeout = 5",
                "unknown setting 'checks.test.timeout': did you mean 'timeout_s'?",
            ),
            ("[[checks]]\nname = 'test'", "missing field `run`"),
            (
                "[[checks]]\nname = 'test'\nrun = ''",
                "checks.test.run is empty",
            ),
            (
                "[[checks]]\nname = 'test'\nrun = 'x'\ntimeout_s = 0",
                "checks.test.timeout_s is 0: give a number from 1 to 14400",
            ),
            (
                "compact_at = 100",
                "compact_at is 100: give a number from 10 to 95",
            ),
            ("max_tokens = 0", "max_tokens is 0: give a number from 1"),
            ("window = 0", "window is 0: give a number from 256"),
            (
                "model_timeout_s = 0",
                "model_timeout_s is 0: give a number from 1 to 604800",
            ),
            ("tool_timeout_s = 0", "tool_timeout_s is 0: give a number"),
            (
                "[worktree]\nsetup = ''",
                "worktree.setup is empty: give a command",
            ),
            (
                "[worktree]\ndisk_limit = '20'",
                "disk_limit is '20': give a number above 0 with a unit",
            ),
            (
                "[worktree]\nclone_fallback = 'link'",
                "unknown variant `link`, expected `skip` or `copy`",
            ),
            (
                "[worktree]\nsteup = 'x'",
                "unknown setting 'worktree.steup': did you mean 'setup'?",
            ),
            (
                "provider = 'anthropic'\n[openai]\nmax_tokens_field = 'zzz'",
                "openai.max_tokens_field is 'zzz': use max_tokens or max_completion_tokens",
            ),
            (
                "\nimages = 'x'",
                "config.toml: line 2: images: unknown variant `x`, expected one of `auto`, `blocks`, `off`. Example: images = \"off\"",
            ),
            (
                "idle_timeout_s = -1",
                "line 1: idle_timeout_s: invalid value: integer `-1`, expected a whole number from 0. Example: idle_timeout_s = 0",
            ),
            (
                "[budget]\nteam_cost = 'x'",
                "line 2: budget: invalid type: string \"x\", expected a number. Example: budget = {",
            ),
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
            ("model = ", "config.toml is not valid TOML: line 1: "),
            ("a = 1\nb =\n", "is not valid TOML: line 2: "),
            ("[prices.m]\ninput = 1.0\noutput = 2.0\ncahce = 1", "cahce"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(
                error.starts_with("config.toml") && error.contains(hint),
                "{text}: {error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn prices_below_zero_are_rejected() {
        for (price, shown) in [("-1.0", "-1"), ("nan", "NaN"), ("inf", "inf")] {
            for part in ["input", "output", "cache_read", "cache_write"] {
                let mut parts = [("input", "1.0"), ("output", "1.0"), (part, price)].to_vec();
                parts.retain(|(name, value)| *name != part || *value == price);
                let parts: Vec<String> = parts.iter().map(|(n, v)| format!("{n} = {v}")).collect();
                let text = format!("prices = {{ m = {{ {} }} }}", parts.join(", "));
                let error = parse(&text).unwrap_err().to_string();
                let start = format!("config.toml: prices.m.{part} is {shown}: give the US dollars");
                assert!(error.starts_with(&start), "{text}: {error}");
            }
        }
        assert!(parse("prices = { m = { input = 0, output = 0.5 } }").is_ok());
    }

    #[test]
    fn network_can_be_set_for_all_roles_or_per_role() {
        let network = |text| parse(text).unwrap().network.unwrap();
        assert_eq!(network("network = 'off'"), NetworkRules::all(Network::Off));
        let each = network("[network]\nteammate = 'ask'");
        assert_eq!((each.lead, each.teammate), (Network::On, Network::Ask));
    }

    #[test]
    fn later_checks_replace_those_with_the_same_name() {
        let check = |name: &str, run: &str| format!("[[checks]]\nname = '{name}'\nrun = '{run}'\n");
        let user = parse(&(check("test", "a") + &check("lint", "b"))).unwrap();
        let project = parse(&check("TEST", "c")).unwrap();
        let all = user.overlaid(project).checks;
        let runs: Vec<&str> = all.iter().map(|spec| spec.run.as_str()).collect();
        assert_eq!(runs, ["b", "c"]);
    }

    #[test]
    fn project_overrides_user_and_prices_are_merged() {
        let user = parse("model='a'\nwindow=5000\n[prices.a]\ninput=1.0\noutput=2.0").unwrap();
        let project = parse("model='b'\nplan='auto'\n[prices.b]\ninput=3.0\noutput=4.0").unwrap();
        let both = user.overlaid(project);
        assert_eq!(
            (both.model.as_deref(), both.window),
            (Some("b"), Some(5000))
        );
        assert_eq!((both.plan, both.prices.len()), (Some(Approver::Auto), 2));
    }
}
