//! Everything that the screen shows, as plain data. `update` changes it, the views read it.

pub(in crate::ui) mod board_view;
pub(super) mod chosen;
pub(in crate::ui) mod drafts;
pub(in crate::ui) mod effect;
pub(in crate::ui) mod filters;
pub(in crate::ui) mod input;
pub(super) mod key_guard;
pub(in crate::ui) mod onboarding;
pub(in crate::ui) mod popup;
pub(in crate::ui) mod role;
pub(in crate::ui) mod status_message;
pub(in crate::ui) mod task_form;
pub(in crate::ui) mod task_forms;

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::layout::Rect;

use crate::domain::attention::Matter;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::limits::Limits;
use crate::domain::own_theme::{OwnTheme, ThemeChoice};
use crate::domain::rule::SessionRule;
use crate::domain::screen::ScreenChoice;
use crate::domain::skill::SkillBook;
use crate::domain::stamp::Stamp;
use crate::domain::team::{Activity, Team};
use crate::domain::text::one_line;
use crate::domain::worktree::CheckedOut;
use crate::protocol::event::Setup;
use crate::ui::app::board_view;
use crate::ui::app::drafts::Drafts;
use crate::ui::app::filters::Filters;
use crate::ui::app::input::Completion;
use crate::ui::app::key_guard::KeyGuard;
use crate::ui::app::onboarding::First;
use crate::ui::app::popup::Popup;
use crate::ui::app::role::Seat;
use crate::ui::app::status_message::Flash;
use crate::ui::app::task_forms::TaskForms;
use crate::ui::attention::Attention;
use crate::ui::diff::Changes;
use crate::ui::frame::hit::Pointer;
use crate::ui::graph::viewport;
use crate::ui::keymap::KeyMap;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::agents::Agents;
use crate::ui::model::board as model_board;
use crate::ui::model::board::{branches, history};
use crate::ui::model::costs;
use crate::ui::model::event_log::EventLog;
use crate::ui::model::jobs::JobBook;
use crate::ui::model::messages::LetterLog;
use crate::ui::model::requests::RequestBook;
use crate::ui::model::{Models, Queued};
use crate::ui::panes::board;
use crate::ui::replay::Player;
use crate::ui::shell::peek::Reading;
use crate::ui::shell::tour::Tour;
use crate::ui::theme::motion::Motion;
use crate::ui::widgets::composer::Composer;

/// How long a second `Ctrl+c` counts.
pub const TWICE: Duration = Duration::from_secs(2);

/// Who has the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MouseOwner {
    /// The terminal: it selects text.
    #[default]
    Terminal,
    /// crewdeck: it scrolls and clicks.
    Crewdeck,
}

/// What is selected in each pane, by its own id: a list that changes does not move the selection.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selected {
    /// On the board.
    pub task: Option<TaskId>,
    /// In the team.
    pub member: Option<Name>,
    /// In the inbox, by number; `None`: the newest.
    pub letter: Option<u64>,
    /// In Needs you.
    pub request: Option<RequestId>,
    /// Since when that request is the selected one without the person's doing.
    pub request_since: Stamp,
    /// Lines of the selected request that are scrolled away above.
    pub request_scroll: usize,
    /// The permission whose end was in view.
    pub request_read: Option<RequestId>,
    /// The permission of which the user knows that a part is folded.
    pub request_cut: Option<RequestId>,
    /// In the todo list, by place; `None`: the item in progress.
    pub todo: Option<usize>,
}

/// Everything that the screen shows.
#[derive(Debug)]
pub struct UiState {
    pub(in crate::ui) first: First,
    pub(in crate::ui) seat: Seat,
    pub(in crate::ui) setup: Option<Setup>,
    pub(in crate::ui) agents: Agents,
    pub(in crate::ui) board: Arc<TaskGraph>,
    pub(in crate::ui) board_kept: model_board::Kept,
    pub(in crate::ui) board_shape: board_view::Shape,
    /// How the drawing of the tasks is looked at.
    pub(in crate::ui) camera: viewport::Camera,
    /// What became of each task.
    pub(in crate::ui) history: history::History,
    /// What was spent on each task.
    pub(in crate::ui) costs: costs::TaskBook,
    /// What holds the agents up before a call.
    pub(in crate::ui) limits: Limits,
    /// What is merged.
    pub(in crate::ui) branches: branches::Branches,
    /// What the root has checked out, as far as somebody has told.
    pub(in crate::ui) head: Option<CheckedOut>,
    pub(in crate::ui) team: Arc<Team>,
    pub(in crate::ui) letters: LetterLog,
    pub(in crate::ui) requests: RequestBook,
    /// What the person allowed the whole team until crewdeck ends, the oldest first.
    pub(in crate::ui) rules: Vec<SessionRule>,
    /// What happened, line by line.
    pub(in crate::ui) event_log: EventLog,
    pub(in crate::ui) models: Models,
    pub(in crate::ui) jobs: JobBook,
    pub(in crate::ui) skills: SkillBook,
    /// What the branch of a task changes, while it is read.
    pub(in crate::ui) diff: Changes,
    pub(in crate::ui) queued: Vec<Queued>,

    pub(in crate::ui) focus: Focus,
    /// Whether the last key left the composer: the pane that got the keys was not chosen by name.
    pub(in crate::ui) left_composer: bool,
    /// Who had the keys, which pane had the whole screen and which tab was chosen before the todo list was gone to.
    pub(in crate::ui) before_todo: Option<(Focus, Option<Pane>, Pane)>,
    /// Who had the keys before they went to Needs you; gets them back when nothing waits any more.
    pub(in crate::ui) before_needs: Option<Focus>,
    pub(in crate::ui) shown: Name,
    pub(in crate::ui) selected: Selected,
    /// What the lists of panes are filtered by.
    pub(in crate::ui) filters: Filters,
    pub(in crate::ui) zoom: Option<Pane>,
    pub(in crate::ui) tab: Pane,
    /// How the panes lie.
    pub(in crate::ui) screen: ScreenChoice,
    /// What the mouse holds, and where it clicked last.
    pub(in crate::ui) pointer: Pointer,
    pub(in crate::ui) popups: Vec<Popup>,
    /// Tasks whose forms were closed before they were taken, and those that are on their way to the board.
    pub(in crate::ui) task_forms: TaskForms,
    /// The draft to the agent that is shown.
    pub(in crate::ui) composer: Composer,
    /// The drafts to the other agents, and what Enter does with each.
    pub(in crate::ui) drafts: Drafts,
    /// What keeps keys from acting on something that the user has not seen yet.
    pub(in crate::ui) key_guard: KeyGuard,
    /// How far what is peeked at is scrolled.
    pub(in crate::ui) reading: Reading,
    /// What the person made of the list that completes a word.
    pub(in crate::ui) completion: Completion,
    pub(in crate::ui) prefix: Option<String>,
    /// What each key does: the table with the person's changes.
    pub(in crate::ui) keymap: Arc<KeyMap>,
    pub(in crate::ui) mouse: MouseOwner,
    pub(in crate::ui) motion: Motion,
    /// The theme that the person keeps; what the screen has now: [`UiState::theme`].
    pub(in crate::ui) theme: ThemeChoice,
    /// The themes that the person wrote.
    pub(in crate::ui) own_themes: Vec<Arc<OwnTheme>>,
    pub(in crate::ui) tour: Tour,
    pub(in crate::ui) attention: Attention,
    /// The recording that is played, where this is no running crew.
    pub(in crate::ui) replay: Option<Box<Player>>,

    pub(in crate::ui) now: Stamp,
    pub(in crate::ui) zone: TimeZone,
    pub(crate) size: Rect,
    pub(in crate::ui) flash: Option<Flash>,
    pub(in crate::ui) quit_armed: Option<Stamp>,
    pub(in crate::ui) interrupted: Option<Name>,
    pub(in crate::ui) dirty: bool,
}

impl UiState {
    /// An empty screen of `width` columns and `height` rows; times of day are those of `zone`.
    pub fn new(width: u16, height: u16, zone: TimeZone, motion: Motion) -> UiState {
        UiState {
            first: First::default(),
            seat: Seat::Crew,
            setup: None,
            agents: Agents::in_zone(zone.clone()),
            board: Arc::default(),
            board_kept: model_board::Kept::default(),
            board_shape: board_view::Shape::default(),
            camera: viewport::Camera::default(),
            history: history::History::default(),
            costs: costs::TaskBook::default(),
            limits: Limits::default(),
            branches: branches::Branches::default(),
            head: None,
            team: Arc::default(),
            letters: LetterLog::default(),
            requests: RequestBook::default(),
            rules: Vec::new(),
            event_log: EventLog::default(),
            models: Models::Unknown,
            jobs: JobBook::default(),
            skills: SkillBook::default(),
            diff: Changes::default(),
            queued: Vec::new(),
            focus: Focus::Composer,
            left_composer: false,
            before_todo: None,
            before_needs: None,
            shown: Name::lead(),
            selected: Selected::default(),
            filters: Filters::default(),
            zoom: None,
            tab: Pane::Board,
            screen: ScreenChoice::default(),
            pointer: Pointer::default(),
            popups: Vec::new(),
            task_forms: TaskForms::default(),
            composer: Composer::default(),
            drafts: Drafts::default(),
            key_guard: KeyGuard::default(),
            reading: Reading::default(),
            completion: Completion::default(),
            prefix: None,
            keymap: Arc::default(),
            mouse: MouseOwner::Terminal,
            motion,
            theme: ThemeChoice::default(),
            own_themes: Vec::new(),
            tour: Tour::Shown,
            attention: Attention::wanting(&Matter::ALL),
            replay: None,
            now: Stamp::default(),
            zone,
            size: Rect::new(0, 0, width, height),
            flash: None,
            quit_armed: None,
            interrupted: None,
            dirty: true,
        }
    }

    /// What an earlier run of crewdeck had under way is over: nobody of it works, nothing of it waits.
    pub fn end_of_session(&mut self, now: Stamp) {
        self.now = now;
        self.agents.end_of_session();
        self.requests = RequestBook::default();
        self.rules.clear();
        self.jobs.end_of_session(now);
        self.queued.clear();
        self.interrupted = None;
        self.flash = None;
        self.attention.forget();
        self.key_guard = KeyGuard {
            moved_at: (self.focus != Focus::Composer).then_some(now),
            hold: None,
        };
        self.focus = Focus::Composer;
        self.dirty = true;
    }

    /// What is written in the composer or the comment, for `$EDITOR`.
    pub fn composer_text(&self) -> String {
        if let Some(Popup::Comment(comment)) = self.popups.last() {
            comment.text.text()
        } else if let Some(Popup::Task(form)) = self.popups.last() {
            form.part(form.field).text()
        } else {
            self.composer.text()
        }
    }

    /// Whether something visible has changed since the last call: then it is time to draw.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Who has the mouse at the start.
    pub fn set_mouse(&mut self, owner: MouseOwner) {
        self.mouse = owner;
    }

    /// The matters that the person wants to be called for.
    pub fn call_for(&mut self, matters: &[Matter]) {
        self.attention.want(matters);
    }

    /// The terminal's title.
    pub fn title(&self) -> String {
        let name = if self.seat.is_crew() {
            "crewdeck"
        } else {
            "crewdeck viewer"
        };
        let waits = match self.requests.for_person() {
            0 => String::new(),
            1 => " (1 needs you)".into(),
            n => format!(" ({n} need you)"),
        };
        let project = self.setup.as_ref().map_or("", Setup::project);
        let of = if project.is_empty() { "" } else { " · " };
        format!("{name}{waits}{of}{}", one_line(project))
    }

    /// What `name` does.
    pub(in crate::ui) fn activity(&self, name: &Name) -> Activity {
        self.agents.activity(name, &self.team)
    }

    /// The lead and everybody on the roster who is not gone.
    pub(in crate::ui) fn present(&self) -> Vec<Name> {
        let members = self.team.present().map(|m| m.name.clone());
        std::iter::once(Name::lead()).chain(members).collect()
    }

    /// Whether `name` has something that can be interrupted.
    pub(in crate::ui) fn is_running(&self, name: &Name) -> bool {
        let in_turn = self.agents.get(name).is_some_and(|a| a.in_turn);
        let activity = self.activity(name);
        in_turn || activity.is_busy() || matches!(activity, Activity::NeedsYou { .. })
    }

    /// How many agents are at work.
    pub(in crate::ui) fn busy(&self) -> usize {
        let busy = |name: &&Name| self.activity(name).is_busy();
        self.present().iter().filter(busy).count()
    }
}

/// What is said when a key would change something.
pub const UNCHANGED: &str = "This is a recording: look around, nothing can be changed.";
