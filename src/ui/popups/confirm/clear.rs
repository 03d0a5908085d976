//! The dialog that confirms clearing the conversation of an agent that is working.

use crate::domain::ids::Name;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::popups::confirm::Question;

#[derive(Debug)]
pub struct ClearConversation(pub Name);

impl Question for ClearConversation {
    const CONFIRM: &'static str = "clear";

    fn title(&self) -> &'static str {
        "Clear conversation"
    }

    fn text(&self, _app: &App) -> String {
        let name = &self.0;
        format!(
            "{name} is still working. Stop it and empty its conversation? Files that it has written are kept. The old conversation is saved in .transcripts/."
        )
    }

    fn on_confirm(&self, _app: &mut App, out: &mut Vec<Effect>) {
        let agent = self.0.clone();
        out.push(Effect::Command(Command::Clear { agent }));
    }
}
