//! The picker of the part of the shown conversation that is copied.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::popups::picker::{Choices, Picker, PickerRow, low_area};
use crate::ui::transcript::Portion;

const ROWS_MAX: u16 = 12;

/// The content of the picker: the parts of the shown conversation that can be copied.
#[derive(Debug)]
pub struct CopyChoices;

/// Opens the picker of what to copy. If the conversation has nothing to copy, shows a status message instead.
pub fn open(app: &mut App) {
    if portions(app).is_empty() {
        let is_empty = |app: &App| portions(app).is_empty();
        app.say_while("This conversation has nothing to copy yet.", is_empty);
        return;
    }
    open_popup(app, Picker::new(CopyChoices, 0));
}

fn portions(app: &App) -> Vec<(Portion, String, String)> {
    let agent = app.model.agents.get(&app.shown);
    agent.map_or_else(Vec::new, |a| a.transcript.copyable_portions())
}

impl Choices for CopyChoices {
    type Item = Portion;

    const TIP: &'static str = "Choose what to copy from the conversation";

    fn title(&self, _app: &App) -> String {
        "Copy".into()
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<Portion>> {
        let all = portions(app).into_iter();
        all.map(|(portion, words, gist)| PickerRow::new(words, gist, portion))
            .collect()
    }

    fn choose(&mut self, app: &mut App, portion: Portion, out: &mut Vec<Effect>) -> Next {
        let Some(text) = app.shown_agent().transcript.portion_text(&portion) else {
            app.say("The selected text is no longer in the conversation.");
            return Next::Close;
        };
        let what = match portion {
            Portion::Cell(_) => "the message",
            Portion::Code(..) => "the code",
            Portion::Whole => "the conversation",
        };
        app.say(format!("Copied {what}."));
        out.push(Effect::Copy(text));
        Next::Close
    }

    fn area(&self, app: &App, screen: Rect) -> Rect {
        // The picker is only as high as its rows need, so that the text to copy stays visible.
        low_area(screen, portions(app).len(), ROWS_MAX)
    }

    fn dims(&self) -> bool {
        false
    }
}
