//! The dialog that confirms approving what the setup page shows, because a single key pressed by
//! accident must not approve them.

use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::onboarding::offers;
use crate::ui::keymap::Action;
use crate::ui::popups::confirm::Question;

#[derive(Debug)]
pub struct ApproveSettings;

impl Question for ApproveSettings {
    fn title(&self) -> &'static str {
        "Approve"
    }

    fn text(&self, _app: &App) -> String {
        "Approve exactly what this page shows, for this directory? It then takes effect at every start, until one of its files changes."
            .into()
    }

    fn buttons(&self, _app: &App) -> &'static [(Action, &'static str)] {
        &[(Action::Accept, "approve"), (Action::Back, "cancel")]
    }

    fn confirmed(&self, app: &mut App, out: &mut Vec<Effect>) {
        if offers(app, Action::ApproveSettings) {
            app.say(NoticeLevel::Info, "Approved: starting…");
            out.push(Effect::ApproveSettings);
        }
    }
}
