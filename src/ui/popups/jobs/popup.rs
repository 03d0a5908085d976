//! The list of background jobs as a popup.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::ids::JobId;
use crate::domain::job::Job;
use crate::domain::text::escape_control_chars;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Copied, Next, Popup, Targets, TextCursor, open_once};
use crate::ui::frame::navigation;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::CrewModel;
use crate::ui::popups::jobs::{draw, place};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{PAGE, step};

#[derive(Debug, Default)]
pub struct JobsPopup {
    pub row: usize,
    /// The job that was selected before the current event.
    remembered: Option<JobId>,
}

pub fn open(app: &mut App) {
    open_once(app, JobsPopup::default());
}

pub fn is_any_running(model: &CrewModel) -> bool {
    model.jobs.running_count() > 0
}

impl JobsPopup {
    pub fn at(row: usize) -> JobsPopup {
        JobsPopup {
            row,
            remembered: None,
        }
    }

    fn selected_job<'a>(&self, model: &'a CrewModel) -> Option<&'a Job> {
        let jobs = model.jobs.ordered_jobs();
        jobs.get(self.row).or(jobs.last()).copied()
    }

    /// Sends the command that kills the selected background job. If the job has already ended, only a status message says
    /// how.
    fn kill(&self, app: &mut App, out: &mut Vec<Effect>) {
        let Some(job) = self.selected_job(app).cloned() else {
            return;
        };
        if !job.is_running() {
            app.say(format!("The job has already ended: {}.", job.status()));
            return;
        }
        app.say(format!("Ending {}.", job.title()));
        out.push(Effect::Command(Command::KillJob { job: job.id }));
    }
}

impl Popup for JobsPopup {
    fn context(&self) -> Context {
        Context::Jobs
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        draw(app, self.row, theme, screen, buffer);
        None
    }

    fn targets(&self, app: &App) -> Targets {
        let len = app.model.jobs.ordered_jobs().len();
        Targets::list(place(app.size, self.row, len), len)
    }

    fn tip(&self, _app: &App) -> String {
        "The background jobs of all agents".into()
    }

    fn act(&mut self, app: &mut App, action: Action, out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Move(by) => {
                let len = app.model.jobs.ordered_jobs().len();
                self.row = step(self.row, len, by, PAGE);
            }
            Action::Open => {
                if let Some(agent) = self.selected_job(app).map(|job| job.agent.clone()) {
                    navigation::show(app, &agent);
                    return Next::CloseAll;
                }
            }
            Action::Kill => self.kill(app, out),
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn select(&mut self, _app: &App, row: usize) {
        self.row = row;
    }

    fn click_again(&self) -> Action {
        Action::Open
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        match action {
            Action::Open | Action::Copy | Action::Move(_) => {
                Some(!app.model.jobs.ordered_jobs().is_empty())
            }
            Action::Kill => Some(is_any_running(app)),
            _ => None,
        }
    }

    fn clipboard_text(&self, app: &App) -> Copied {
        match self.selected_job(app) {
            None => Copied::Below,
            Some(job) if job.tail.is_empty() => Copied::Nothing,
            Some(job) => {
                let what = format!("the last output of {}", job.title());
                Copied::Text(what, escape_control_chars(&job.tail))
            }
        }
    }

    fn counts_seconds(&self, app: &App) -> bool {
        is_any_running(app)
    }

    fn before_event(&mut self, app: &App) {
        let jobs = app.model.jobs.ordered_jobs();
        self.remembered = jobs.get(self.row).map(|job| job.id.clone());
    }

    fn after_event(&mut self, app: &App) {
        let wanted = self.remembered.take();
        let jobs = app.model.jobs.ordered_jobs();
        let at = jobs.iter().position(|job| Some(&job.id) == wanted.as_ref());
        self.row = at.unwrap_or(self.row.min(jobs.len().saturating_sub(1)));
    }
}
