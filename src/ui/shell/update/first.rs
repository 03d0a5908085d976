//! Actions of the onboarding page.

use crate::protocol::event::NoticeLevel;
use crate::protocol::{AgentEvent, EventKind};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::onboarding::{PageSeverity, drawn, keys_line, offers};
use crate::ui::app::popup;
use crate::ui::frame::layout as frame_layout;
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::lead::onboarding::lines;
use crate::ui::popups::confirm::Confirmation;
use crate::ui::popups::confirm::approve_settings::ApproveSettings;
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;
use crate::ui::theme::Theme;

/// Shown when the user approves settings that are not completely visible.
const TOO_LONG: &str =
    "Not all settings are visible. Make the window larger, or run crewdeck trust in a shell.";

/// Runs `action` if the onboarding page offers it; otherwise does nothing.
pub fn take_up(state: &mut UiState, action: Action, out: &mut Vec<Effect>) {
    if !offers(state, action) {
        return;
    }
    let (words, wish) = if action == Action::StartDemo {
        ("Starting the demo…", Effect::StartDemo)
    } else if action == Action::MakeRepository {
        ("Running git…", Effect::MakeRepository)
    } else if action == Action::ApproveSettings {
        if !fits(state) {
            state.say(NoticeLevel::Warn, TOO_LONG);
            return;
        }
        popup::open(state, Confirmation(ApproveSettings));
        return;
    } else if action == Action::WithoutSettings {
        (
            "Starting without the project settings…",
            Effect::StartWithoutSettings,
        )
    } else {
        ("Checking again…", Effect::Reload)
    };
    state.say(NoticeLevel::Info, words);
    out.push(wish);
}

/// Records prompts to the lead and the ends of its turns, so that a prompt that the model failed to answer returns to
/// the composer.
pub fn on_event(app: &mut App, event: &EventKind) {
    if let EventKind::Agent {
        agent,
        event: AgentEvent::Prompted { text },
    } = event
    {
        app.remember_prompt(agent, text);
    } else if let EventKind::Agent {
        agent,
        event: AgentEvent::TurnEnded { end },
    } = event
    {
        app.handle_turn_end(agent, end);
    }
}

/// Returns why `action` is unavailable without a crew; `None` if it is available.
pub fn refuses(app: &App, action: Action) -> Option<String> {
    let is_the_crews = matches!(action, Action::Models | Action::Compact);
    let page = app.first_page().filter(|_| is_the_crews)?;
    (page.severity == PageSeverity::Missing)
        .then(|| format!("No crew is running yet. {}", keys_line(app)))
}

/// Returns whether the onboarding page is shown and all its steps fit on the screen.
pub fn fits(state: &UiState) -> bool {
    let layout = layout::layout(state, state.size);
    let (Some(area), Some(page)) = (layout.pane(Pane::Lead), drawn(state)) else {
        return false;
    };
    let area = frame_layout::inside(area).inner(frame_layout::BESIDE_TEXT);
    state.popups.is_empty() && lines(state, page, &Theme::default(), area).is_whole
}
