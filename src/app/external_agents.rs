//! Finds the external agents of the settings and the presets, and their programs on this machine.

use std::path::{Path, PathBuf};

use crate::config::{self, Settings};
use crate::crew::ExternalParts;
use crate::domain::external_agent::{ExternalAgent, ExternalAgentInfo};
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
            let path = path_of(&agent, root);
            ExternalAgentInfo::of(&agent, path.map(|path| path.display().to_string()))
        }
        Err((name, why)) => ExternalAgentInfo::unusable(name, why),
    });
    (info.collect(), notices)
}

/// Returns how the crew finds the external agents of `settings`. An agent whose program is not installed is an error that
/// says how to install it.
pub fn parts(settings: &Settings, root: &Path) -> ExternalParts {
    let (of_crew, root) = (settings.clone(), root.to_path_buf());
    ExternalParts {
        find: Box::new(move |name| find_one(&of_crew, &root, name)),
        idle_limit: settings.model_timeout(),
        crewdeck: std::env::current_exe().ok(),
    }
}

/// Returns the secrets in the environment variables of the external agents of `settings`, each with the name for its
/// placeholder.
pub fn secrets(settings: &Settings) -> Vec<(String, String)> {
    let agents = config::external_agents(settings, |name| std::env::var(name).ok());
    super::secrets::of_agents(agents.iter().flatten())
}

fn path_of(agent: &ExternalAgent, root: &Path) -> Option<PathBuf> {
    find_program(agent.argv.first().map_or("", String::as_str), root)
}

fn find_one(settings: &Settings, root: &Path, name: &str) -> Result<ExternalAgent, String> {
    let agents = config::external_agents(settings, |name| std::env::var(name).ok());
    let is_it = |agent: &Result<ExternalAgent, (String, String)>| match agent {
        Ok(agent) => agent.name == name,
        Err((failed, _)) => failed == name,
    };
    let names = || {
        let names = agents.iter().flatten().map(|agent| agent.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    match agents.iter().find(|agent| is_it(agent)) {
        Some(Ok(agent)) if path_of(agent, root).is_some() => Ok(agent.clone()),
        Some(Ok(agent)) => {
            let program = agent.argv.first().map_or("", String::as_str);
            let install = agent.preset.map_or("", |preset| preset.install);
            let how = match install {
                "" => "install it, or correct its command in the settings".to_string(),
                install => format!("install it with: {install}"),
            };
            Err(format!(
                "the program {program} of the agent '{name}' is not on the path: {how}"
            ))
        }
        Some(Err((_, why))) => Err(why.clone()),
        None => Err(format!(
            "there is no external agent '{name}': use one of {}",
            names()
        )),
    }
}
