//! The dialog that confirms leaving the session for another one while agents or jobs are running.

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::open as open_popup;
use crate::ui::keymap::Context;
use crate::ui::popups::confirm::quit::what_would_stop;
use crate::ui::popups::confirm::{Confirmation, Question};

/// The question whether to leave the current session. Holds the id of the session to resume; `None` for a new session.
#[derive(Debug)]
pub struct StartSession(pub Option<String>);

/// Resumes the session with id `session`, or starts a new session if `session` is `None`. If that would stop agents or
/// jobs, asks for confirmation first.
pub fn start(app: &mut App, session: Option<String>, out: &mut Vec<Effect>) {
    if what_would_stop(app).is_some() {
        open_popup(app, Confirmation(StartSession(session)));
    } else {
        out.push(Effect::StartSession(session));
    }
}

impl Question for StartSession {
    const CONFIRM: &'static str = "leave";
    const CANCEL: &'static str = "stay";

    fn title(&self) -> &'static str {
        match self.0 {
            None => "New session",
            Some(_) => "Resume session",
        }
    }

    fn text(&self, app: &App) -> String {
        let asks = "Leave this session and stop all agents and jobs? Work so far is kept. /resume continues the session.";
        match what_would_stop(app) {
            None => asks.into(),
            Some(words) => format!("{words} {asks}"),
        }
    }

    fn on_confirm(&self, _app: &mut App, out: &mut Vec<Effect>) {
        out.push(Effect::StartSession(self.0.clone()));
    }

    fn context(&self) -> Context {
        Context::Leave
    }
}
