//! Starts the crew of an editor's session.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use agent_client_protocol::v1::schema::SessionId;
use anyhow::{Result, bail};

use super::features::EditorFeatures;
use super::plan::EditorPlan;
use super::prompts::SentFiles;
use super::requests::EditorRequests;
use super::session::EditorSession;
use super::updates::UpdateTranslator;
use crate::app::assemble::{self, Assembly, Built};
use crate::app::blueprint::Blueprint;
use crate::app::headless::eprint_key_address;
use crate::app::{model_setup, now, secrets, trust};
use crate::cli::GlobalOptions;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskStatus;
use crate::protocol::{CommandIds, CrewEvent, EventKind, bus};
use crate::store::Board;

impl EditorSession {
    /// Starts a crew in the project `root`. `dir` is the directory in which the editor works, the root or one below it.
    /// With `resume`, continues the session of this id, else begins a new one.
    ///
    /// # Errors
    /// Fails if another process runs a crew in the project, if the user has not decided on the project's sensitive
    /// settings, or as [`Blueprint::read`] and [`assemble::build`] do.
    pub async fn start(
        options: &GlobalOptions,
        root: &Path,
        dir: &Path,
        resume: Option<String>,
        features: &EditorFeatures,
    ) -> Result<EditorSession> {
        let mut options = options.clone();
        options.dir = Some(dir.to_path_buf());
        options.resume = resume;
        let blueprint = Blueprint::read(&options)?;
        trust::check(&blueprint.project)?;
        trust::report(&blueprint.extensions.last());
        if let Some((key, address)) = model_setup::key_address(&blueprint) {
            eprint_key_address(&key, &address);
        }
        let earlier = completed_tasks(root);
        let (event_sender, mut events) = bus::bus(now);
        let redactor = secrets::redactor();
        let event_sender = event_sender.with_redactor(redactor.clone());
        let Assembly {
            crew,
            journal,
            lock,
            stores: _,
            host: _,
            probe: _,
        } = match Box::pin(assemble::build(&blueprint, event_sender)).await? {
            Built::Crew(assembly) => *assembly,
            Built::RunsElsewhere(holder) => bail!(
                "a crew already runs in {}{}: end it, or work with it in its dashboard",
                blueprint.root.display(),
                holder.format_process()
            ),
            Built::LedElsewhere(led) => bail!(led),
        };
        let mut backlog = VecDeque::new();
        let id = loop {
            let Some(event) = events.next().await else {
                bail!("the crew ended unexpectedly");
            };
            let ready = match &event.kind {
                EventKind::Crew(CrewEvent::Ready(setup)) => Some(setup.session.clone()),
                _ => None,
            };
            backlog.push_back(event);
            if let Some(id) = ready {
                break SessionId::new(id);
            }
        };
        let plan = EditorPlan::new(earlier);
        Ok(EditorSession {
            root: root.to_path_buf(),
            crew,
            events,
            backlog,
            journal,
            lock,
            ids: CommandIds::default(),
            redactor,
            translator: UpdateTranslator::new(root, features.has_notices, plan),
            requests: EditorRequests::new(id.clone(), features.has_forms),
            prompt: None,
            files: SentFiles::default(),
            is_lead_active: false,
            is_idle: true,
            id,
        })
    }
}

/// Returns the ids of the completed tasks on the board of the project `root`; empty if the board cannot be read.
fn completed_tasks(root: &Path) -> BTreeSet<TaskId> {
    let Ok(board) = Board::open(root).read() else {
        return BTreeSet::new();
    };
    let done = board.graph.tasks();
    let done = done.filter(|task| task.status == TaskStatus::Completed);
    done.map(|task| task.id).collect()
}
