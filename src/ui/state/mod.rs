//! Everything that the screen shows, as plain data. `update` changes it, the views read it.

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

/// Most messages that wait to enter a conversation.
pub const QUEUED_MAX: usize = 50;
/// Most models that are listed.
pub const MODELS_MAX: usize = 1000;

/// The time between two pictures of the spinner: 8 a second.
pub const SPIN: Duration = Duration::from_millis(125);
/// How long a second `Ctrl+c` counts.
pub const TWICE: Duration = Duration::from_secs(2);
/// Whether the spinner turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    /// It turns.
    #[default]
    Full,
    /// It stands still; only seconds are counted.
    Reduced,
}

/// Who has the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MouseOwner {
    /// The terminal: it selects text.
    #[default]
    Terminal,
    /// crewdeck: it scrolls and clicks.
    Crewdeck,
}

/// The models of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Models {
    /// Not asked for.
    #[default]
    Unknown,
    /// Asked for.
    Asked,
    /// There they are.
    Listed(Vec<String>),
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

/// A message that its agent has not taken up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// To whom.
    pub to: Name,
    /// The words.
    pub text: String,
}

/// Everything that the screen shows.
#[derive(Debug)]
pub struct UiState {
    pub(super) first: First,
    pub(super) seat: Seat,
    pub(super) setup: Option<Setup>,
    pub(super) agents: Agents,
    pub(super) board: Arc<TaskGraph>,
    pub(super) board_kept: board::Kept,
    pub(super) board_shape: board::Shape,
    /// How the drawing of the tasks is looked at.
    pub(super) camera: board::Camera,
    /// What became of each task.
    pub(super) history: board::history::History,
    /// What was spent on each task.
    pub(super) costs: costs::TaskBook,
    /// What holds the agents up before a call.
    pub(super) limits: Limits,
    /// What is merged.
    pub(super) branches: board::Branches,
    /// What the root has checked out, as far as somebody has told.
    pub(super) head: Option<CheckedOut>,
    pub(super) team: Arc<Team>,
    pub(super) letters: LetterLog,
    pub(super) requests: RequestBook,
    /// What the person allowed the whole team until crewdeck ends, the oldest first.
    pub(super) rules: Vec<SessionRule>,
    /// What happened, line by line.
    pub(super) event_log: EventLog,
    pub(super) models: Models,
    pub(super) jobs: JobBook,
    pub(super) skills: SkillBook,
    /// What the branch of a task changes, while it is read.
    pub(super) diff: Changes,
    pub(super) queued: Vec<Queued>,

    pub(super) focus: Focus,
    /// Whether the last key left the composer: the pane that got the keys was not chosen by name.
    pub(super) left_composer: bool,
    /// Who had the keys, which pane had the whole screen and which tab was chosen before the todo list was gone to.
    pub(super) before_todo: Option<(Focus, Option<Pane>, Pane)>,
    /// Who had the keys before they went to Needs you; gets them back when nothing waits any more.
    pub(super) before_needs: Option<Focus>,
    pub(super) shown: Name,
    pub(super) selected: Selected,
    /// What the lists of panes are filtered by.
    pub(super) filters: Filters,
    pub(super) zoom: Option<Pane>,
    pub(super) tab: Pane,
    /// How the panes lie.
    pub(super) screen: ScreenChoice,
    /// What the mouse holds, and where it clicked last.
    pub(super) pointer: Pointer,
    pub(super) popups: Vec<Popup>,
    /// Tasks whose forms were closed before they were taken, and those that are on their way to the board.
    pub(super) task_forms: TaskForms,
    /// The draft to the agent that is shown.
    pub(super) composer: Composer,
    /// The drafts to the other agents, and what Enter does with each.
    pub(super) drafts: Drafts,
    /// What keeps keys from acting on something that the user has not seen yet.
    pub(super) key_guard: KeyGuard,
    /// How far what is peeked at is scrolled.
    pub(super) reading: Reading,
    /// What the person made of the list that completes a word.
    pub(super) completion: Completion,
    pub(super) prefix: Option<String>,
    /// What each key does: the table with the person's changes.
    pub(super) keymap: Arc<KeyMap>,
    pub(super) mouse: MouseOwner,
    pub(super) motion: Motion,
    /// The theme that the person keeps; what the screen has now: [`UiState::theme`].
    pub(super) theme: ThemeChoice,
    /// The themes that the person wrote.
    pub(super) own_themes: Vec<Arc<OwnTheme>>,
    pub(super) tour: Tour,
    pub(super) attention: Attention,
    /// The recording that is played, where this is no running crew.
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
    /// An empty screen of `width` columns and `height` rows; times of day are those of `zone`.
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
    pub(super) fn activity(&self, name: &Name) -> Activity {
        self.agents.activity(name, &self.team)
    }

    /// The lead and everybody on the roster who is not gone.
    pub(super) fn present(&self) -> Vec<Name> {
        let members = self.team.present().map(|m| m.name.clone());
        std::iter::once(Name::lead()).chain(members).collect()
    }

    /// Whether `name` has something that can be interrupted.
    pub(super) fn is_running(&self, name: &Name) -> bool {
        let in_turn = self.agents.get(name).is_some_and(|a| a.in_turn);
        let activity = self.activity(name);
        in_turn || activity.is_busy() || matches!(activity, Activity::NeedsYou { .. })
    }

    /// How many agents are at work.
    pub(super) fn busy(&self) -> usize {
        let busy = |name: &&Name| self.activity(name).is_busy();
        self.present().iter().filter(busy).count()
    }
}
