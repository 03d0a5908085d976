//! View models of the crew, built from its events: agents, jobs, messages and requests, and the texts and symbols for
//! them on the screen.

pub(super) mod agents;
pub(in crate::ui) mod board;
pub(in crate::ui) mod costs;
pub(in crate::ui) mod event_log;
pub(super) mod jobs;
pub(in crate::ui) mod messages;
pub(super) mod plan_pages;
pub(super) mod pulse;
pub(super) mod requests;
pub(super) mod sentence;
pub(super) mod servers;
pub(in crate::ui) mod style;
pub(in crate::ui) mod team_book;

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::domain::graph::TaskGraph;
use crate::domain::ids::Name;
use crate::domain::limits::Limits;
use crate::domain::merge_train::TrainState;
use crate::domain::permission::SessionPermission;
use crate::domain::skill::SkillCatalog;
use crate::domain::worktree::CheckedOut;
use crate::protocol::event::SessionInfo;
use crate::ui::model::agents::Agents;
use crate::ui::model::board::BoardMemos;
use crate::ui::model::board::branches::Branches;
use crate::ui::model::board::history::History;
use crate::ui::model::costs::TaskBook;
use crate::ui::model::event_log::EventLog;
use crate::ui::model::jobs::JobBook;
use crate::ui::model::messages::MessageLog;
use crate::ui::model::requests::RequestBook;
use crate::ui::model::servers::ServerBook;
use crate::ui::model::team_book::TeamBook;

/// The names of the provider's models. They are requested each time the user opens the model picker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ModelList {
    /// The names were not requested yet.
    #[default]
    Unknown,
    /// The names were requested and have not arrived yet.
    Asked,
    Listed(Vec<String>),
}

/// A message of the user that its recipient has not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub to: Name,
    pub text: String,
}

/// Maximum number of unread messages of the user in memory. If there are more, the oldest is no longer shown as queued.
pub const QUEUED_MAX: usize = 50;

/// Maximum number of model names in the list. Further names are dropped.
pub const MODELS_MAX: usize = 1000;

/// The state of the crew according to its events. Panes and popups read it; only events change it.
#[derive(Debug)]
pub struct CrewModel {
    pub(in crate::ui) setup: Option<SessionInfo>,
    pub(in crate::ui) agents: Agents,
    pub(in crate::ui) board: Arc<TaskGraph>,
    /// Cached values that are derived from the board.
    pub(in crate::ui) memo: BoardMemos,
    pub(in crate::ui) history: History,
    pub(in crate::ui) costs: TaskBook,
    /// The limit on concurrent model calls, and the usage budgets.
    pub(in crate::ui) limits: Limits,
    /// The merge status of the branches of tasks.
    pub(in crate::ui) branches: Branches,
    /// The branch or commit that is checked out in the root directory; `None` until the crew has reported it.
    pub(in crate::ui) head: Option<CheckedOut>,
    /// The last step of the last merge train; `None` if none has run since the crew started.
    pub(in crate::ui) train: Option<TrainState>,
    /// The roster of the team, and the hosts of a crew on a hub.
    pub(in crate::ui) team: TeamBook,
    pub(in crate::ui) messages: MessageLog,
    pub(in crate::ui) requests: RequestBook,
    /// The session permissions: what the user has allowed the whole team until crewdeck ends. Oldest first.
    pub(in crate::ui) rules: Vec<SessionPermission>,
    pub(in crate::ui) event_log: EventLog,
    pub(in crate::ui) models: ModelList,
    pub(in crate::ui) jobs: JobBook,
    /// The MCP servers, with the resources and prompts that they offer.
    pub(in crate::ui) servers: ServerBook,
    pub(in crate::ui) skills: SkillCatalog,
    pub(in crate::ui) queued: Vec<Queued>,
}

impl CrewModel {
    /// Creates an empty model that shows times in `zone`.
    pub fn new(zone: TimeZone) -> CrewModel {
        CrewModel {
            setup: None,
            agents: Agents::in_zone(zone),
            board: Arc::default(),
            memo: BoardMemos::default(),
            history: History::default(),
            costs: TaskBook::default(),
            limits: Limits::default(),
            branches: Branches::default(),
            head: None,
            train: None,
            team: TeamBook::default(),
            messages: MessageLog::default(),
            requests: RequestBook::default(),
            rules: Vec::new(),
            event_log: EventLog::default(),
            models: ModelList::Unknown,
            jobs: JobBook::default(),
            servers: ServerBook::default(),
            skills: SkillCatalog::default(),
            queued: Vec::new(),
        }
    }
}
