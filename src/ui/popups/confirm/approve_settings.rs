//! The dialog that confirms the approval of the project settings on the setup page. A single key pressed by accident
//! must not approve settings.

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::onboarding::offers;
use crate::ui::keymap::Action;
use crate::ui::popups::confirm::Question;

#[derive(Debug)]
pub struct ApproveSettings;

impl Question for ApproveSettings {
    const CONFIRM: &'static str = "approve";

    fn title(&self) -> &'static str {
        "Approve"
    }

    fn text(&self, _app: &App) -> String {
        "Approve exactly what this page shows, for this directory? The approval applies at every start, until an approved file changes."
            .into()
    }

    fn on_confirm(&self, app: &mut App, out: &mut Vec<Effect>) {
        if offers(app, Action::ApproveSettings) {
            app.say("Approved: starting…");
            out.push(Effect::ApproveSettings);
        }
    }
}
