//! The settings. They come from these sources, of which a later one overrides an earlier one: defaults, the user's
//! file, the project's file, environment variables, command-line options.

pub mod acceptance;
mod approvals;
pub mod extensions;
mod external_agents;
mod file;
mod hub;
mod layer;
mod named_models;
mod project_policy;
#[cfg(test)]
mod reference;
mod save;
mod setting;
mod settings;
mod themes;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use crate::domain::request::Approver;
use crate::store::{os_errors, regular_file};
pub use approvals::SettingsDecision;
pub use external_agents::external_agents;
pub use named_models::provider as named_model_provider;
pub use project_policy::{ProjectPolicy, SensitiveSettings};
pub use save::save_theme;
pub use setting::{InProject, Section, Setting};
pub use settings::{SECTIONS, Settings};
pub use values::SandboxMode;

/// The project's settings file, relative to the project root.
pub const PROJECT_FILE: &str = ".crewdeck/config.toml";

/// Maximum size of a settings file, in bytes.
const FILE_MAX: u64 = 1024 * 1024;

/// Reads the settings files of the user and of the project `root`. If both set a value, the project's value is used.
/// `check` is called with the settings of each file, for checks that need more knowledge than this module has. The
/// error of `check` must name the setting.
///
/// # Errors
/// Fails if a file exists but cannot be read, is invalid, or contains a setting that only the user's file may contain.
/// The error names the file, the problem and, if known, the line. For an unknown setting, it also names the closest match.
pub fn load(
    root: &Path,
    check: impl Fn(&Settings) -> Result<(), String>,
) -> Result<LoadedSettings> {
    let mut settings = Settings::default();
    let mut project = ProjectPolicy::default();
    let mut allow_file = None;
    for path in files(root) {
        match regular_file::read(&path, FILE_MAX) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let mut later = Settings::parse(&text, &path)?;
                if path == root.join(PROJECT_FILE) {
                    // The same bytes are checked, hashed and used, so that a change of the file in between has no
                    // effect.
                    let mut table: toml::Table = toml::from_str(&text)?;
                    if Some(&path) != user_file().as_ref() {
                        reject_user_only(&table, &path)?;
                    }
                    project = project_policy::apply_decision(root, &bytes, &mut table);
                    later = Settings::parse(&toml::to_string(&table)?, &path)?;
                }
                check(&later).map_err(|why| anyhow!("{}: {why}", path.display()))?;
                if later.allow.is_some() {
                    allow_file = Some(path.clone());
                }
                settings = settings.overlaid(later);
                themes::check(&settings, &path)?;
                named_models::check_chains(&settings.models, &path)?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => bail!(
                "{} cannot be read: {}",
                path.display(),
                os_errors::explain(&e)
            ),
        }
    }
    Ok(LoadedSettings {
        settings,
        project,
        allow_file,
    })
}

#[derive(Debug, Clone, Default)]
pub struct LoadedSettings {
    /// The merged settings of the user and the project. Settings of the project that need approval are left out until
    /// they are approved.
    pub settings: Settings,
    /// The settings in the project's file that need approval, and whether they apply.
    pub project: ProjectPolicy,
    /// The file with the value of the setting `allow`; `None` if no file sets it.
    pub allow_file: Option<PathBuf>,
}

/// Fails if the project's file contains a setting that is [`InProject::Refused`]. The user cannot approve such a
/// setting.
fn reject_user_only(table: &toml::Table, path: &Path) -> Result<()> {
    for setting in settings::all() {
        if let InProject::Refused { why } = setting.in_project
            && table.contains_key(setting.name)
        {
            bail!(
                "{}: a project cannot {why}. Move the setting {} to {}",
                path.display(),
                setting.name,
                user_file().unwrap_or_default().display()
            );
        }
    }
    Ok(())
}

/// Returns the paths of the settings files for the project `root`: the user's file, then the project's file, whose
/// settings override those of the user's file. The files need not exist.
pub fn files(root: &Path) -> Vec<PathBuf> {
    [user_file(), Some(root.join(PROJECT_FILE))]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the path of the user's settings file; `None` if there is no home directory.
pub fn user_file() -> Option<PathBuf> {
    Some(user_folder()?.join("config.toml"))
}

/// Returns the user's configuration folder, `$XDG_CONFIG_HOME/crewdeck`, which holds settings, roles, skills, MCP servers
/// and hooks; `None` if there is no home directory.
pub fn user_folder() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let dirs = etcetera::choose_base_strategy().ok()?;
    Some(dirs.config_dir().join("crewdeck"))
}

/// Returns the folder of the user's state, `$XDG_STATE_HOME/crewdeck`, which agents cannot write; `None` without a home
/// directory.
pub fn state_folder() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let dirs = etcetera::choose_base_strategy().ok()?;
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_dir());
    Some(state.join("crewdeck"))
}

impl Settings {
    /// Returns the time after which an idle teammate leaves the team. Returns `None` if teammates never leave, because
    /// the setting is 0.
    pub fn idle_timeout(&self) -> Option<Duration> {
        match self.idle_timeout_s() {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        }
    }

    /// Returns the maximum run time of a command.
    pub fn tool_timeout(&self) -> Duration {
        Duration::from_secs(self.tool_timeout_s())
    }

    /// Returns the maximum time without data from the model server.
    pub fn model_timeout(&self) -> Duration {
        Duration::from_secs(self.model_timeout_s())
    }

    /// Returns who approves plans, shutdowns and tool calls, in this order.
    pub fn approvers(&self) -> (Approver, Approver, Approver) {
        (
            self.plan.unwrap_or_default(),
            self.shutdown.unwrap_or_default(),
            self.tool.unwrap_or_default(),
        )
    }
}
