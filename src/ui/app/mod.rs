//! The state that panes and popups share, as plain data.

pub(in crate::ui) mod answering;
pub(super) mod chosen;
pub(in crate::ui) mod drafts;
pub(in crate::ui) mod effect;
pub(in crate::ui) mod hit;
pub(in crate::ui) mod input;
pub(super) mod key_guard;
pub(in crate::ui) mod mentions;
pub(in crate::ui) mod onboarding;
pub(in crate::ui) mod pane_request;
pub(in crate::ui) mod popup;
mod popup_stack;
pub(in crate::ui) mod recipient;
pub(in crate::ui) mod role;
pub(in crate::ui) mod sent_commands;
pub(in crate::ui) mod status_message;
pub(in crate::ui) mod task_rules;
mod user_shell;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::layout::Rect;

use crate::domain::custom_theme::{CustomTheme, ThemeChoice};
use crate::domain::ids::Name;
use crate::domain::screen::ScreenSettings;
use crate::domain::task::Task;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::TodoItem;
use crate::protocol::event::SessionInfo;
use crate::protocol::{Command, SentCommand};
use crate::ui::app::input::UserInput;
use crate::ui::app::key_guard::KeyGuard;
use crate::ui::app::onboarding::Onboarding;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::PopupStack;
use crate::ui::app::role::SessionRole;
use crate::ui::app::status_message::StatusMessage;
use crate::ui::keymap::KeyMap;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::CrewModel;
use crate::ui::model::agents::{AgentView, TurnStatus};
use crate::ui::pictures::{ImageDrawing, PictureUpdate, Pictures};
use crate::ui::replay::Player;
use crate::ui::text::age;
use crate::ui::theme::ThemeName;
use crate::ui::transcript::Search;

/// Time after a first `Ctrl+c` within which a second one quits.
pub const QUIT_WINDOW: Duration = Duration::from_secs(2);

/// The state that several panes and popups share, with the state of the crew.
#[derive(Debug)]
pub struct App {
    pub(in crate::ui) model: CrewModel,
    pub(in crate::ui) role: SessionRole,
    pub(in crate::ui) onboarding: Onboarding,
    pub(in crate::ui) focus: Focus,
    pub(in crate::ui) shown: Name,
    /// The requests to the panes that are not delivered yet. The module `ui::shell` delivers them before each action
    /// and at the end of each update.
    pub(in crate::ui) pane_requests: Vec<PaneRequest>,
    pub(in crate::ui) arrangement: PaneArrangement,
    pub(in crate::ui) popups: PopupStack,
    pub(in crate::ui) input: UserInput,
    pub(in crate::ui) prefs: Preferences,
    pub(in crate::ui) pictures: Pictures,
    pub(in crate::ui) keys: KeyState,
    /// The replay; `None` if the screen does not show a recording.
    pub(in crate::ui) replay: Option<Box<Player>>,
    pub(in crate::ui) now: Timestamp,
    pub(crate) size: Rect,
    pub(in crate::ui) status: Option<StatusMessage>,
    pub(in crate::ui) dirty: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PaneArrangement {
    /// The pane that is shown full screen; `None` if none is.
    pub zoom: Option<Pane>,
    /// The selected tab. Its pane is shown in the area that several panes share.
    pub tab: Pane,
    /// The layout and the column widths that the user has chosen.
    pub screen: ScreenSettings,
}

#[derive(Debug, Clone)]
pub struct Preferences {
    /// The key bindings: the built-in ones with the user's changes.
    pub keymap: Arc<KeyMap>,
    /// Whether the terminal reports mouse events to crewdeck. If not, the terminal uses the mouse to select text.
    pub captures_mouse: bool,
    /// The theme from the settings. [`App::theme`] returns the theme in use, which may be a preview of another theme.
    pub theme: ThemeChoice,
    pub own_themes: Vec<Arc<CustomTheme>>,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
}

/// State from earlier key presses that affects what the next key does.
#[derive(Debug, Clone, Default)]
pub struct KeyState {
    /// The first key of a two-key sequence such as `ctrl+x e`, while the second key is awaited.
    pub prefix: Option<String>,
    /// When the user pressed `Ctrl+c` and was asked to press it again to quit; `None` if a press would not quit. Valid
    /// for [`QUIT_WINDOW`].
    pub quit_armed: Option<Timestamp>,
    /// The agent that the user has interrupted and that has not stopped yet.
    pub interrupted: Option<Name>,
    /// The key guard, which ignores keys that were meant for content that is no longer focused or shown.
    pub guard: KeyGuard,
    /// Whether the user has left the composer with `Back` and has run no other action since. The user has then not
    /// chosen the pane that got the focus, so the focus key of that pane does not show it full screen.
    pub left_composer: bool,
    /// Whether a message has explained that Option may type symbols instead of acting as Alt.
    pub explained_option: bool,
    /// Whether a message has explained that crewdeck has no permission modes.
    pub explained_modes: bool,
    /// What had the focus before the pane "Needs you" got it. The action `Back` in that pane returns the focus there.
    pub before_needs: Option<Focus>,
}

impl Deref for App {
    type Target = CrewModel;

    fn deref(&self) -> &CrewModel {
        &self.model
    }
}

impl App {
    /// Returns the agent whose conversation is shown. If no event has named this agent yet, first adds it to the model,
    /// without data.
    pub(in crate::ui) fn shown_agent(&mut self) -> &mut AgentView {
        self.model.agents.entry(&self.shown)
    }

    /// Returns whether the search text for the shown conversation is being typed, and the pane Lead has the focus.
    pub(in crate::ui) fn is_searching(&self) -> bool {
        let agent = self.model.agents.get(&self.shown);
        let search = agent.and_then(|agent| agent.transcript.search());
        search.is_some_and(Search::is_typing) && self.focus == Focus::Pane(Pane::Lead)
    }

    /// Creates an empty screen of `width` columns and `height` rows that shows times in `zone`.
    pub fn new(width: u16, height: u16, zone: TimeZone) -> App {
        App {
            model: CrewModel::new(zone.clone()),
            role: SessionRole::Crew,
            onboarding: Onboarding::default(),
            focus: Focus::Composer,
            shown: Name::lead(),
            pane_requests: Vec::new(),
            arrangement: PaneArrangement {
                zoom: None,
                tab: Pane::Board,
                screen: ScreenSettings::default(),
            },
            popups: PopupStack::default(),
            input: UserInput::default(),
            prefs: Preferences {
                keymap: Arc::default(),
                captures_mouse: false,
                theme: ThemeChoice::default(),
                own_themes: Vec::new(),
                zone,
            },
            pictures: Pictures::default(),
            keys: KeyState::default(),
            replay: None,
            now: Timestamp::default(),
            size: Rect::new(0, 0, width, height),
            status: None,
            dirty: true,
        }
    }
}

impl App {
    /// Sets how this terminal can draw images, and applies this to all conversations. With the theme `mono`, conversations
    /// still show only the labels of images.
    pub fn set_image_drawing(&mut self, drawing: ImageDrawing) {
        self.pictures.drawing = drawing;
        self.apply_image_drawing();
    }

    /// Sets how conversations draw images: in the way that the terminal supports, or as labels only with the theme
    /// `mono`.
    pub(in crate::ui) fn apply_image_drawing(&mut self) {
        let is_mono = self.prefs.theme == ThemeChoice::BuiltIn(ThemeName::Mono);
        let drawing = if is_mono {
            ImageDrawing::LabelOnly
        } else {
            self.pictures.drawing
        };
        self.model.agents.set_image_drawing(drawing);
    }

    /// Handles the news that a picture was loaded, could not be loaded, or was removed from memory.
    pub(in crate::ui) fn update_picture(&mut self, news: PictureUpdate) {
        match news {
            PictureUpdate::Loaded(key, picture) => self.pictures.insert(key, picture),
            PictureUpdate::Failed { file, why } => self.model.agents.fail_picture(&file, &why),
            PictureUpdate::Dropped(key) => self.pictures.remove(&key),
        }
        self.dirty = true;
    }

    /// Assigns an id to a command. If the crew rejects the command, the rejection contains this id. The front end calls
    /// this function once for each command that it sends.
    pub fn assign_id(&mut self, command: Command) -> SentCommand {
        self.input.sent_commands.assign_id(command)
    }

    /// Returns the text to edit in `$EDITOR`: the text of the comment or form field in the topmost popup, otherwise the
    /// text of the composer.
    pub fn composer_text(&self) -> String {
        let written = self.popups.last().and_then(|popup| popup.text());
        written.unwrap_or(&self.input.composer).text()
    }

    /// Returns the todo list of the agent whose conversation is shown; empty if it has none.
    pub(in crate::ui) fn shown_todo(&self) -> &[TodoItem] {
        let agent = self.model.agents.get(&self.shown);
        agent.map_or(&[], |a| a.todo.items())
    }

    /// Returns how long a task has had its current status, such as `12m`; empty if that is unknown.
    pub(in crate::ui) fn standing_for(&self, task: &Task) -> String {
        let since = self.model.history.since(task);
        since.map_or_else(String::new, |at| age(self.now.since(at)))
    }

    /// Returns whether the next `Ctrl+c` quits, because the user has just been asked to press it again.
    pub(in crate::ui) fn is_quit_armed(&self) -> bool {
        let armed = self.keys.quit_armed;
        armed.is_some_and(|at| self.now.since(at) <= QUIT_WINDOW)
    }

    /// Returns whether a redraw is needed, and resets the flag.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Returns the message that the user has sent last, and removes it. The caller saves it in the history on disk.
    pub fn take_sent(&mut self) -> Option<String> {
        self.input.sent.take()
    }

    /// Returns the id of the session whose crew this process runs; `None` in a viewer, if no crew runs, and before the
    /// crew has started.
    pub fn own_session(&self) -> Option<&str> {
        let setup = self.model.setup.as_ref().filter(|_| self.role.is_crew())?;
        Some(&setup.session)
    }

    /// Records whether the terminal reports mouse events to crewdeck. Does not change the mode of the terminal.
    pub fn set_mouse_capture(&mut self, is_on: bool) {
        self.prefs.captures_mouse = is_on;
    }

    /// Returns the title of the terminal window: the program, the number of requests that the user must decide, and the
    /// project.
    pub fn title(&self) -> String {
        let name = if self.role.is_crew() {
            "crewdeck"
        } else {
            "crewdeck viewer"
        };
        let waits = match self.model.requests.for_user() {
            0 => String::new(),
            1 => " (1 needs you)".into(),
            n => format!(" ({n} need you)"),
        };
        let project = self.model.setup.as_ref().map_or("", SessionInfo::project);
        let of = if project.is_empty() { "" } else { " · " };
        format!("{name}{waits}{of}{}", one_line(project))
    }
}

impl CrewModel {
    /// Returns what the agent `name` is doing, such as thinking, running a tool or waiting for the user.
    pub(in crate::ui) fn activity(&self, name: &Name) -> Activity {
        self.agents.activity(name, &self.team)
    }

    /// Returns the lead, followed by all teammates that have not shut down.
    pub(in crate::ui) fn present(&self) -> Vec<Name> {
        let members = self.team.present().map(|m| m.name.clone());
        std::iter::once(Name::lead()).chain(members).collect()
    }

    /// Returns whether the agent `name` is in a turn, runs a command or waits for the user, and can therefore be
    /// interrupted.
    pub(in crate::ui) fn is_running(&self, name: &Name) -> bool {
        let agent = self.agents.get(name);
        let in_turn = agent.is_some_and(|a| a.turn == TurnStatus::Running);
        let activity = self.activity(name);
        let runs_command = self
            .agents
            .get(name)
            .is_some_and(|a| a.user_command.is_some());
        in_turn
            || runs_command
            || activity.is_busy()
            || matches!(activity, Activity::NeedsYou { .. })
    }

    /// Returns the number of busy agents among the lead and the teammates.
    pub(in crate::ui) fn busy(&self) -> usize {
        let busy = |name: &&Name| self.activity(name).is_busy();
        self.present().iter().filter(busy).count()
    }
}

/// The status message for a key that would change something during a replay.
pub const UNCHANGED: &str = "This is a replay: nothing can be changed.";
