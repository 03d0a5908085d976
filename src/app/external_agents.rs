//! The external agents that this machine has.

use std::path::Path;

use crate::config;
use crate::domain::external_agent::ExternalAgentInfo;
use crate::process::environment::find_program;

/// Returns the external agents of the settings of the project `root` and the presets, each with the path of its program.
/// If the settings cannot be read, returns only the presets, and a notice that says why.
pub fn find(root: &Path) -> (Vec<ExternalAgentInfo>, Vec<String>) {
    let mut notices = Vec::new();
    let settings = match config::load(root, super::check_tools) {
        Ok(loaded) => loaded.settings,
        Err(error) => {
            notices.push(format!(
                "{error:#}. Only the presets of external agents are listed"
            ));
            config::Settings::default()
        }
    };
    let agents = config::external_agents(&settings, |name| std::env::var(name).ok());
    let info = agents.into_iter().map(|agent| match agent {
        Ok(agent) => {
            let program = agent.argv.first().map_or("", String::as_str);
            let path = find_program(program, root);
            ExternalAgentInfo::of(&agent, path.map(|path| path.display().to_string()))
        }
        Err((name, why)) => ExternalAgentInfo::unusable(name, why),
    });
    (info.collect(), notices)
}
