//! The dialog that confirms approving the project settings shown on the setup page, because a single key pressed by
//! accident must not approve them.

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
        "Approve settings"
    }

    fn text(&self, _app: &App) -> String {
        "Approve these settings for this directory? They then take effect at every start, until the file changes."
            .into()
    }

    fn confirmed(&self, app: &mut App, out: &mut Vec<Effect>) {
        if offers(app, Action::ApproveSettings) {
            app.say("Approved: starting with these settings…");
            out.push(Effect::ApproveSettings);
        }
    }
}
