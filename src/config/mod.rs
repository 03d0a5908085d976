//! The settings: defaults, then the user's file, the project's file, the environment, the options.

mod approvals;
mod file;
mod layer;
mod provider;
#[cfg(test)]
mod reference;
mod save;
mod settings;
mod themes;
mod trust;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::domain::request::Decider;
use crate::store::{plain, words};
pub use approvals::Decision;
pub use provider::{Choice, Found, Source, choose};
pub use save::save_theme;
pub use settings::{InProject, SECTIONS, Section, Setting, Settings};
pub use trust::{Project, Sensitive};
pub use values::{Confining, Merging};

/// Tokens of one answer where the settings say nothing.
pub const MAX_TOKENS: u32 = 8192;
/// How long a program of an agent may run where the settings say nothing.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a teammate rests before it leaves where the settings say nothing.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The project's settings file, below its root.
pub const PROJECT_FILE: &str = ".crewdeck/config.toml";

/// Largest settings file, in bytes.
const FILE_MAX: u64 = 1024 * 1024;

/// Reads the user's and the project's settings, the later over the earlier.
///
/// # Errors
/// Names the file, the line and what is wrong with it; for an unknown setting the nearest known one.
pub fn load(root: &Path) -> Result<Loaded> {
    let mut settings = Settings::default();
    let mut project = Project::default();
    for path in files(root) {
        match plain::read(&path, FILE_MAX) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let mut later = Settings::parse(&text, &path)?;
                if path == root.join(PROJECT_FILE) {
                    // The same bytes are judged, hashed and used: a file that changes meanwhile gains nothing.
                    let mut table: toml::Table = toml::from_str(&text)?;
                    if Some(&path) != user_file().as_ref() {
                        refuse_own(&table, &path)?;
                    }
                    project = trust::judge(root, &bytes, &mut table);
                    later = Settings::parse(&toml::to_string(&table)?, &path)?;
                }
                settings = settings.overlaid(later);
                themes::check(&settings, &path)?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => bail!("{} can not be read: {}", path.display(), words::why(&e)),
        }
    }
    Ok(Loaded { settings, project })
}

/// What the settings files say.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The settings that apply.
    pub settings: Settings,
    /// What becomes of those of the project that need approval.
    pub project: Project,
}

/// Refuses what only the user's own file may set, approved or not.
fn refuse_own(table: &toml::Table, path: &Path) -> Result<()> {
    for setting in settings::all() {
        if let InProject::Refused { why } = setting.in_project
            && table.contains_key(setting.name)
        {
            let own = user_file().unwrap_or_default();
            bail!(
                "{}: a project cannot {why}: move {} to {}",
                path.display(),
                setting.name,
                own.display()
            );
        }
    }
    Ok(())
}

/// The settings files for `root`, whether they are there or not; the later over the earlier.
pub fn files(root: &Path) -> Vec<PathBuf> {
    [user_file(), Some(root.join(PROJECT_FILE))]
        .into_iter()
        .flatten()
        .collect()
}

/// The person's own settings file; `None` where there is no home.
pub fn user_file() -> Option<PathBuf> {
    Some(user_folder()?.join("config.toml"))
}

/// The person's own folder for all projects: settings and skills.
pub fn user_folder() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let dirs = etcetera::choose_base_strategy().ok()?;
    Some(dirs.config_dir().join("crewdeck"))
}

impl Settings {
    /// How long a teammate may rest; `None`: for ever (the setting 0).
    pub fn idle_timeout(&self) -> Option<Duration> {
        match self.idle_timeout_s {
            None => Some(IDLE_TIMEOUT),
            Some(0) => None,
            Some(seconds) => Some(Duration::from_secs(seconds)),
        }
    }

    /// How long a program may run.
    pub fn tool_timeout(&self) -> Duration {
        self.tool_timeout_s
            .map_or(TOOL_TIMEOUT, |s| Duration::from_secs(s.max(1)))
    }

    /// How long the model's server may say nothing; `None`: the wire's own default.
    pub fn model_timeout(&self) -> Option<Duration> {
        self.model_timeout_s.map(|s| Duration::from_secs(s.max(1)))
    }

    /// Who decides plans, shutdowns and tool calls.
    pub fn deciders(&self) -> (Decider, Decider, Decider) {
        (
            self.plan.unwrap_or_default(),
            self.shutdown.unwrap_or_default(),
            self.tool.unwrap_or_default(),
        )
    }
}
