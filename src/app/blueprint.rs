//! Reads the configuration of a crew: options, settings, extensions and the demo.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};

use super::hub::HubPlan;
use super::{demo, model_setup, resume, root, settings, supervisor};
use crate::cli::GlobalOptions;
use crate::config::extensions::LiveExtensions;
use crate::config::{LoadedSettings, ProjectPolicy, Settings};
use crate::crew::Approvers;
use crate::domain::named_model::ModelUses;
use crate::domain::request::Approver;
use crate::domain::team_preset::TeamPreset;
use crate::domain::worktree::WorktreeSettings;
use crate::model::providers::ProviderChoice;
use crate::store::{self, Stores};

/// The configuration of a crew. It is read completely before the crew starts a process or calls a server.
pub struct Blueprint {
    pub root: PathBuf,
    /// The directory in which crewdeck was started or that `--dir` names: the project directory or a directory below it.
    /// In the demo, it can be outside of the project directory.
    pub dir: PathBuf,
    /// The settings, after environment variables and command-line options have replaced values from settings files.
    pub settings: Settings,
    /// The project's settings that need the user's approval, and the user's decision about them.
    pub project: ProjectPolicy,
    /// The file with the value of the setting `allow`; `None` if no file sets it.
    pub allow_file: Option<PathBuf>,
    /// The MCP servers and hooks of the user and of the project, including those that are not approved.
    pub extensions: Arc<LiveExtensions>,
    /// Whether the option `--model` was given.
    pub is_model_chosen: bool,
    /// The model provider; `None` if no setting, option or key selects one.
    pub choice: Option<ProviderChoice>,
    pub approvers: Approvers,
    /// The team preset that the user selected; `None` if the user selected none.
    pub preset: Option<TeamPreset>,
    /// The id of the session to resume; `None` starts a new session.
    pub resume: Option<String>,
    /// Speed factor of a scripted model: 2 halves the waiting times in its script. Ignored by other models.
    pub speed: f64,
    /// How this process takes part in a crew on a hub; `None` for a crew on this machine.
    pub hub: Option<HubPlan>,
    /// Whether a session that is resumed waits until the hub can be reached, instead of an error.
    pub waits_for_hub: bool,
    /// The demo's repository; `None` outside the demo. A temporary repository is deleted when the blueprint is dropped.
    demo: Option<demo::Repository>,
}

impl Blueprint {
    /// Reads options, settings and environment. Creates the demo's repository if the user requested the demo.
    ///
    /// # Errors
    /// Fails if options or settings are invalid or conflict, if the directory, the session or the team preset that the
    /// options name does not exist, or if the demo's repository cannot be created.
    pub fn read(global: &GlobalOptions) -> Result<Blueprint> {
        let wants_demo = global.demo || global.provider.as_deref() == Some("demo");
        if global.speed.is_some() && !wants_demo {
            bail!("--speed works only with --demo and with crewdeck replay");
        }
        if let (true, Some(dir), None) = (wants_demo, &global.dir, &global.resume) {
            // Check the settings before the folder is created. If this attempt fails after that, the folder is not
            // empty, and the next attempt fails too.
            settings(global, dir)?;
        }
        let (root, demo) = if wants_demo {
            let repository = match (&global.dir, &global.resume) {
                (Some(dir), Some(_)) => demo::Repository::reopen(dir)?,
                (dir, _) => demo::Repository::make(dir.as_deref())?,
            };
            (repository.path().to_owned(), Some(repository))
        } else {
            (root(global)?, None)
        };
        let id = global.resume.as_deref();
        let resume = id.map(|id| resume::choose(&root, id)).transpose()?;
        let LoadedSettings {
            mut settings,
            project,
            allow_file,
        } = settings(global, &root)?;
        if demo.is_some() {
            settings.sandbox = supervisor::demo_sandbox(&settings);
            settings.models.clear();
            settings.checks.clear();
            settings.r#use = ModelUses::default();
            // The user's commands are meant for real projects.
            settings.worktree = WorktreeSettings::default();
        }
        // The demo uses no models, servers and hooks of the user, so that it is the same for every user and needs no key.
        let extensions = if wants_demo {
            LiveExtensions::none()
        } else {
            LiveExtensions::load(&root)
        };
        let choice = if wants_demo {
            Some(ProviderChoice::Demo)
        } else {
            model_setup::choice(&settings)?
        };
        let hub = HubPlan::of_lead(global, &settings)?;
        let (plan, shutdown, tool) = settings.approvers();
        let preset = global.team.as_ref();
        let preset = preset.map(|name| store::team_preset(&root, name));
        let preset = preset.transpose().map_err(|why| anyhow!("--team: {why}"))?;
        Ok(Blueprint {
            preset,
            dir: super::start_dir(global).unwrap_or_else(|_| root.clone()),
            root,
            settings,
            project,
            allow_file,
            extensions: Arc::new(extensions),
            is_model_chosen: global.model.is_some(),
            choice,
            approvers: Approvers {
                plan,
                shutdown,
                tool,
                budget: Approver::Ask,
                question: Approver::Ask,
            },
            resume,
            hub,
            waits_for_hub: false,
            speed: global.speed.unwrap_or(1.0),
            demo,
        })
    }

    /// Takes over what an earlier start of this process has reported to the user, so that it is not reported again.
    pub fn keep_reports_of(&mut self, earlier: &Blueprint) {
        if let (Some(plan), Some(earlier)) = (&mut self.hub, &earlier.hub) {
            plan.settings.unsigned = earlier.settings.unsigned.clone();
        }
    }

    /// Returns the shared state of the crew. Does not connect and does not join.
    pub fn stores(&self) -> Stores {
        match &self.hub {
            Some(plan) => plan.stores(&self.root),
            None => Stores::open(&self.root),
        }
    }

    pub fn is_demo(&self) -> bool {
        self.demo.is_some()
    }

    /// Returns whether the project directory is a temporary one, which is deleted when crewdeck ends.
    pub fn is_temporary(&self) -> bool {
        self.demo
            .as_ref()
            .is_some_and(demo::Repository::is_temporary)
    }

    /// Returns the built-in prompt of the demo; `None` if this is not the demo, or if the demo is resumed.
    pub fn prompt(&self) -> Option<String> {
        let demo = self.demo.as_ref().filter(|_| self.resume.is_none());
        demo.map(|_| demo::PROMPT.to_string())
    }
}
