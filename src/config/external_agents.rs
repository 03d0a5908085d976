//! The external agents of the settings, completed by their presets.

use crate::domain::external_agent::{ExternalAgent, with_presets};

use super::extensions::{Variable, expand};
use super::settings::Settings;

/// Returns all external agents by name: those of the settings and the presets. An agent that cannot be used is an error
/// with its name and a text that names the setting and the reason. `environment` looks up environment variables.
pub fn external_agents(
    settings: &Settings,
    environment: impl Fn(&str) -> Option<String>,
) -> Vec<Result<ExternalAgent, (String, String)>> {
    let lookup = |name: &str| environment(name).map_or(Variable::Unset, Variable::Value);
    let expanded = |text: &str| {
        let expanded = expand(text, &lookup)?;
        match expanded.unset.first() {
            Some(name) => Err(format!("uses the variable {name}, which is not set")),
            None => Ok(expanded.text),
        }
    };
    let agents = with_presets(&settings.agents).into_iter();
    let resolved = agents.map(|(name, entry)| {
        let agent = ExternalAgent::resolve(&name, &entry, &expanded);
        agent.map_err(|why| {
            let why = format!("agents.{name}{why}");
            (name, why)
        })
    });
    resolved.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn variables_in_the_environment_of_an_agent_are_expanded() {
        let text = "
[agents.mine]
command = [\"my-agent\", \"acp\"]
env = { KEY = \"${MY_KEY}\", OTHER = \"${NONE:-x}\" }
[agents.broken]
command = \"other\"
env = { KEY = \"${NONE}\" }
";
        let settings = Settings::parse(text, Path::new("config.toml")).unwrap();
        let agents = external_agents(&settings, |name| (name == "MY_KEY").then(|| "k".into()));
        let mine = agents
            .iter()
            .flatten()
            .find(|agent| agent.name == "mine")
            .unwrap();
        assert_eq!(
            (mine.env["KEY"].as_str(), mine.env["OTHER"].as_str()),
            ("k", "x")
        );
        let error = agents
            .iter()
            .find_map(|agent| agent.as_ref().err())
            .unwrap();
        assert_eq!(error.0, "broken");
        assert!(
            error
                .1
                .contains("agents.broken.env.KEY uses the variable NONE"),
            "{}",
            error.1
        );
        assert!(agents.iter().flatten().any(|agent| agent.name == "claude"));
    }

    #[test]
    fn agent_without_a_command_is_rejected_when_the_settings_are_read() {
        for (text, expected) in [
            ("[agents.mine]\nmode = \"x\"", "agents.mine has no command"),
            ("[agents.mine]\ncommand = 3", "command is a program"),
            ("[agents.mine]\ncommand = \"x\"\ncwd = \"/\"", "cwd"),
            (
                "[agents.mine]\ncommand = \"x\"\nenv = { \"A=B\" = \"\" }",
                "valid variable name",
            ),
        ] {
            let error = Settings::parse(text, Path::new("config.toml")).unwrap_err();
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }
}
