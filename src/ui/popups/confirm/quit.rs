//! The dialog that confirms quitting while agents or jobs are running, requests wait for the user or branches are
//! unmerged.

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::keymap::Context;
use crate::ui::model::board::branches;
use crate::ui::popups::confirm::Question;

#[derive(Debug)]
pub struct Quit;

impl Question for Quit {
    const CONFIRM: &'static str = "quit";
    const CANCEL: &'static str = "stay";

    fn title(&self) -> &'static str {
        "Quit"
    }

    fn text(&self, app: &App) -> String {
        let asks = match (app.at_stake(), app.jobs_at_stake()) {
            (0, 0) => "Quit?",
            (1, 0) => "Quit and stop it? Its work so far is kept.",
            (_, 0) => "Quit and stop them? Their work so far is kept.",
            (0, 1) => "Quit and kill the job?",
            (0, _) => "Quit and kill the jobs?",
            (_, _) => "Quit and stop all agents and jobs? Their work so far is kept.",
        };
        match what_would_stop(app).or_else(|| what_waits(app)) {
            None => asks.into(),
            Some(words) => format!("{words} {asks}"),
        }
    }

    fn on_confirm(&self, _app: &mut App, out: &mut Vec<Effect>) {
        out.push(Effect::Quit);
    }

    fn context(&self) -> Context {
        Context::Leave
    }
}

/// Returns whether quitting stops agents or jobs, or leaves work that waits for the user.
pub fn needs_question(app: &App) -> bool {
    what_would_stop(app).or_else(|| what_waits(app)).is_some()
}

/// Returns a sentence with the number of requests that wait for the user and of branches that are not merged; `None` if
/// there are none, or if the crew belongs to another process.
fn what_waits(app: &App) -> Option<String> {
    if !app.holds_crew() {
        return None;
    }
    let requests = match app.model.requests.for_user() {
        0 => None,
        1 => Some("1 request waits for you".to_string()),
        n => Some(format!("{n} requests wait for you")),
    };
    let branches = match branches::unmerged_tasks(app).len() {
        0 => None,
        1 => Some("1 branch is unmerged".to_string()),
        n => Some(format!("{n} branches are unmerged")),
    };
    let all: Vec<String> = requests.into_iter().chain(branches).collect();
    (!all.is_empty()).then(|| format!("{}.", all.join(", ")))
}

/// Returns a sentence with the number of agents and jobs that quitting would stop; `None` if it would stop none.
pub fn what_would_stop(app: &App) -> Option<String> {
    let agents = match app.at_stake() {
        0 => None,
        1 => Some("One agent is still working".to_string()),
        n => Some(format!("{n} agents are still working")),
    };
    let jobs = match (app.jobs_at_stake(), &agents) {
        (0, _) => None,
        (1, None) => Some("One background job is still running".to_string()),
        (n, None) => Some(format!("{n} background jobs are still running")),
        (1, Some(_)) => Some("one background job is running".to_string()),
        (n, Some(_)) => Some(format!("{n} background jobs are running")),
    };
    let all: Vec<String> = agents.into_iter().chain(jobs).collect();
    (!all.is_empty()).then(|| format!("{}.", all.join(", ")))
}
