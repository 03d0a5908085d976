//! The dialog that confirms killing a teammate.

use crate::domain::ids::Name;
use crate::domain::text::one_line;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::popups::confirm::Question;

#[derive(Debug)]
pub struct KillTeammate(pub Name);

impl Question for KillTeammate {
    const CONFIRM: &'static str = "kill it";

    fn title(&self) -> &'static str {
        "Kill teammate"
    }

    fn text(&self, app: &App) -> String {
        let name = &self.0;
        let task = app.model.board.open_task_of(name).map(|task| {
            format!(
                " Task {} ({}) goes back to the board.",
                task.id,
                one_line(&task.subject)
            )
        });
        format!(
            "Kill {name} now? A running turn is cut off.{} Files that {name} has written are kept.",
            task.unwrap_or_default()
        )
    }

    fn on_confirm(&self, _app: &mut App, out: &mut Vec<Effect>) {
        let member = self.0.clone();
        out.push(Effect::Command(Command::Force { member }));
    }
}
