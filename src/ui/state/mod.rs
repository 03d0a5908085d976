//! The state of the UI as plain data. `update` changes it, the views read it.

pub(super) mod ages;
pub(super) mod chosen;
pub(super) mod contexts;
pub(super) mod flash;
pub(super) mod key_guard;
pub(super) mod pane;
pub(super) mod rows;
pub(super) mod seat;
pub(super) mod tick;

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::layout::Rect;

use super::attention::Attention;
use super::board;
use super::costs;
use super::diff::Changes;
use super::event_log::EventLog;
use super::hit::Pointer;
use super::keymap::KeyMap;
use super::popup::Popup;
use super::replay::Player;
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
use crate::ui::guide::first::First;
use crate::ui::guide::tour::Tour;
use crate::ui::known::agents::Agents;
use crate::ui::known::jobs::JobBook;
use crate::ui::known::letters::LetterLog;
use crate::ui::known::requests::RequestBook;
use crate::ui::popup::peek::Reading;
use crate::ui::state::flash::Flash;
use crate::ui::state::key_guard::KeyGuard;
use crate::ui::state::pane::{Focus, Pane};
use crate::ui::state::seat::Seat;
use crate::ui::writing::complete::Completion;
use crate::ui::writing::composer::Composer;
use crate::ui::writing::drafts::Drafts;
use crate::ui::writing::filters::Filters;
use crate::ui::writing::task_forms::TaskForms;

/// Maximum number of sent messages shown as queued.
pub const QUEUED_MAX: usize = 50;
/// Maximum number of listed models.
pub const MODELS_MAX: usize = 1000;

/// The frame time of the spinner: 8 frames per second.
pub const SPIN: Duration = Duration::from_millis(125);
/// The time within which a second `Ctrl+c` quits.
pub const TWICE: Duration = Duration::from_secs(2);
/// The animation setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    /// The spinner is animated.
    #[default]
    Full,
    /// No animation; only counted seconds change.
    Reduced,
}

/// Who receives mouse events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MouseOwner {
    /// The terminal, for selecting text.
    #[default]
    Terminal,
    /// crewdeck, for scrolling and clicking.
    Crewdeck,
}

/// The provider's list of models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Models {
    /// Not requested.
    #[default]
    Unknown,
    /// Requested.
    Asked,
    /// Received.
    Listed(Vec<String>),
}

/// The selection of each pane, by identity: a change of a list does not move it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selected {
    pub task: Option<TaskId>,
    pub member: Option<Name>,
    /// The message number; `None` selects the newest.
    pub letter: Option<u64>,
    pub request: Option<RequestId>,
    /// When the selected request changed without a key press.
    pub request_since: Stamp,
    /// Lines of the selected request scrolled off the top.
    pub request_scroll: usize,
    /// The permission request whose end was visible.
    pub request_read: Option<RequestId>,
    /// The permission request whose folded or truncated parts were reported to the user.
    pub request_cut: Option<RequestId>,
    /// The index in the todo list; `None` selects the item in progress.
    pub todo: Option<usize>,
}

/// A message that its agent has not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// The recipient.
    pub to: Name,
    pub text: String,
}

/// The state of the UI.
#[derive(Debug)]
pub struct UiState {
    pub(super) first: First,
    pub(super) seat: Seat,
    pub(super) setup: Option<Setup>,
    pub(super) agents: Agents,
    pub(super) board: Arc<TaskGraph>,
    pub(super) board_kept: board::Kept,
    pub(super) board_shape: board::Shape,
    /// The viewport of the task graph.
    pub(super) camera: board::Camera,
    /// The history of each task.
    pub(super) history: board::history::History,
    /// Tokens and cost of each task.
    pub(super) costs: costs::TaskBook,
    /// The state of the call queue.
    pub(super) limits: Limits,
    /// The merge status of the task branches.
    pub(super) branches: board::Branches,
    /// The git HEAD of the project root, if known.
    pub(super) head: Option<CheckedOut>,
    pub(super) team: Arc<Team>,
    pub(super) letters: LetterLog,
    pub(super) requests: RequestBook,
    /// Permissions granted to the whole team for the session, oldest first.
    pub(super) rules: Vec<SessionRule>,
    pub(super) event_log: EventLog,
    pub(super) models: Models,
    pub(super) jobs: JobBook,
    pub(super) skills: SkillBook,
    /// The diff that is open.
    pub(super) diff: Changes,
    pub(super) queued: Vec<Queued>,

    pub(super) focus: Focus,
    /// Whether the last key left the composer; the focused pane was then not chosen by its key.
    pub(super) left_composer: bool,
    /// The focus, full-screen pane and tab before the todo list was opened.
    pub(super) before_todo: Option<(Focus, Option<Pane>, Pane)>,
    /// The focus to restore when no request is open any more.
    pub(super) before_needs: Option<Focus>,
    pub(super) shown: Name,
    pub(super) selected: Selected,
    /// The filters of the panes.
    pub(super) filters: Filters,
    pub(super) zoom: Option<Pane>,
    pub(super) tab: Pane,
    /// The layout of the panes.
    pub(super) screen: ScreenChoice,
    /// What the mouse drags, and its last click.
    pub(super) pointer: Pointer,
    pub(super) popups: Vec<Popup>,
    /// Drafts of task forms, and forms sent to the board but not confirmed.
    pub(super) task_forms: TaskForms,
    /// The draft to the shown agent.
    pub(super) composer: Composer,
    /// The drafts to the other agents, and the request that each one answers.
    pub(super) drafts: Drafts,
    /// Keeps keys from acting on something that the user has not seen yet.
    pub(super) key_guard: KeyGuard,
    /// The scroll position of the preview.
    pub(super) reading: Reading,
    /// The state of the completion list.
    pub(super) completion: Completion,
    pub(super) prefix: Option<String>,
    /// The key bindings, including the user's changes.
    pub(super) keymap: Arc<KeyMap>,
    pub(super) mouse: MouseOwner,
    pub(super) motion: Motion,
    /// The saved theme. [`UiState::theme`] returns the one in effect.
    pub(super) theme: ThemeChoice,
    /// The user's custom themes.
    pub(super) own_themes: Vec<Arc<OwnTheme>>,
    pub(super) tour: Tour,
    pub(super) attention: Attention,
    /// The replay, if this is no running crew.
    pub(super) replay: Option<Box<Player>>,

    pub(super) now: Stamp,
    pub(super) zone: TimeZone,
    pub(crate) size: Rect,
    pub(super) flash: Option<Flash>,
    pub(super) quit_armed: Option<Stamp>,
    pub(super) interrupted: Option<Name>,
    pub(super) dirty: bool,
}

impl UiState {
    /// Creates an empty screen of `width` columns and `height` rows that shows times in `zone`.
    pub fn new(width: u16, height: u16, zone: TimeZone, motion: Motion) -> UiState {
        UiState {
            first: First::default(),
            seat: Seat::Crew,
            setup: None,
            agents: Agents::in_zone(zone.clone()),
            board: Arc::default(),
            board_kept: board::Kept::default(),
            board_shape: board::Shape::default(),
            camera: board::Camera::default(),
            history: board::history::History::default(),
            costs: costs::TaskBook::default(),
            limits: Limits::default(),
            branches: board::Branches::default(),
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

    /// Ends everything that belonged to an earlier crewdeck process: no agent runs and no request is open.
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

    /// Returns the text of the composer, comment or form field, for `$EDITOR`.
    pub fn composer_text(&self) -> String {
        if let Some(Popup::Comment(comment)) = self.popups.last() {
            comment.text.text()
        } else if let Some(Popup::Task(form)) = self.popups.last() {
            form.part(form.field).text()
        } else {
            self.composer.text()
        }
    }

    /// Returns whether a redraw is needed, and resets the flag.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Sets who receives mouse events at the start.
    pub fn set_mouse(&mut self, owner: MouseOwner) {
        self.mouse = owner;
    }

    /// Sets the kinds of events that notify the user.
    pub fn call_for(&mut self, matters: &[Matter]) {
        self.attention.want(matters);
    }

    /// Returns the terminal's title.
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

    /// Returns the activity of `name`.
    pub(super) fn activity(&self, name: &Name) -> Activity {
        self.agents.activity(name, &self.team)
    }

    /// Returns the lead and all teammates that have not shut down.
    pub(super) fn present(&self) -> Vec<Name> {
        let members = self.team.present().map(|m| m.name.clone());
        std::iter::once(Name::lead()).chain(members).collect()
    }

    /// Returns whether `name` can be interrupted.
    pub(super) fn is_running(&self, name: &Name) -> bool {
        let in_turn = self.agents.get(name).is_some_and(|a| a.in_turn);
        let activity = self.activity(name);
        in_turn || activity.is_busy() || matches!(activity, Activity::NeedsYou { .. })
    }

    /// Returns the number of busy agents.
    pub(super) fn busy(&self) -> usize {
        let busy = |name: &&Name| self.activity(name).is_busy();
        self.present().iter().filter(busy).count()
    }
}
