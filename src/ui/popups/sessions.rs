//! The picker of the session to resume.

use ratatui::layout::Rect;

use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::popups::confirm::start_session;
use crate::ui::popups::picker::{Choices, Picker, PickerRow, low_area};
use crate::ui::text::long_age;

const ROWS_MAX: u16 = 16;

/// A session of the project, as the picker lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    pub id: String,
    /// The first prompt of the session; empty if there is none.
    pub prompt: String,
    /// The time of the last event in the session; `None` if unknown.
    pub last: Option<Timestamp>,
    /// The number of completed tasks and the number of all tasks after the last event; `None` if unknown.
    pub tasks: Option<(usize, usize)>,
}

/// The content of the picker: the earlier sessions, newest first. `None` until the list of sessions has arrived.
#[derive(Debug)]
pub struct SessionChoices(Option<Vec<SessionSummary>>);

/// Opens the session picker and requests the list of sessions with an effect.
pub fn open(app: &mut App, out: &mut Vec<Effect>) {
    open_popup(app, Picker::new(SessionChoices(None), 0));
    out.push(Effect::ListSessions);
}

impl App {
    /// Shows the sessions of the project, except the current one, in the picker. Does nothing if the picker is no
    /// longer the topmost popup.
    pub fn show_sessions(&mut self, mut sessions: Vec<SessionSummary>) {
        let own = self.own_session().map(str::to_string);
        sessions.retain(|session| Some(&session.id) != own.as_ref());
        if let Some(picker) = self.popups.top_mut::<Picker<SessionChoices>>() {
            picker.choices.0 = Some(sessions);
            self.dirty = true;
        }
    }
}

impl SessionSummary {
    fn row(&self, now: Timestamp) -> PickerRow<String> {
        let prompt = match one_line(&self.prompt).replace('⏎', " ") {
            blank if blank.trim().is_empty() => "no prompt yet".to_string(),
            prompt => prompt,
        };
        let tasks = self.tasks.filter(|(_, all)| *all > 0);
        let tasks = tasks.map(|(done, all)| format!("{done}/{all} tasks"));
        let last = self
            .last
            .map(|at| format!("{:>4} ago", long_age(now.since(at))));
        let aside: Vec<String> = tasks.into_iter().chain(last).collect();
        PickerRow::new(prompt, aside.join("  "), self.id.clone())
    }
}

impl Choices for SessionChoices {
    /// The id of the session.
    type Item = String;

    const TIP: &'static str = "Earlier sessions of this project, newest first";

    fn title(&self, _app: &App) -> String {
        "Resume a session".into()
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<String>> {
        let all = self.0.iter().flatten();
        all.map(|session| session.row(app.now)).collect()
    }

    fn choose(&mut self, app: &mut App, id: String, out: &mut Vec<Effect>) -> Next {
        start_session::start(app, Some(id), out);
        Next::Close
    }

    fn area(&self, _app: &App, screen: Rect) -> Rect {
        low_area(screen, self.0.as_ref().map_or(1, Vec::len), ROWS_MAX)
    }

    fn none_matches(&self, _app: &App, typed: &str) -> String {
        match &self.0 {
            None => "Loading sessions…".into(),
            Some(_) if !typed.is_empty() => "No matches.".into(),
            Some(_) => "This project has no earlier session.".into(),
        }
    }
}
