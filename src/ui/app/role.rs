//! Which seat this screen has: the crew's own window, or one that looks on while another process runs the crew.

use crate::ui::app::onboarding::First;
use crate::ui::app::{App, KeyState};
use crate::ui::diff::Changes;
use crate::ui::keymap::Action;
use crate::ui::model::Model;
use crate::ui::text::width;

/// Which seat this screen has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Seat {
    /// The crew runs in this process.
    #[default]
    Crew,
    /// The crew is about to begin in this process: what is not shown yet may still be read.
    Starting,
    /// The crew runs in another process, whose id is known or not.
    Viewer(Option<u32>),
    /// The crew of the other process is gone, and this one is about to go on with it.
    Taking,
    /// The crew runs here, and ran in another process before; until the person wants something of it.
    Taken(Option<u32>),
    /// The crew of the other process is gone, and this one could not take it over.
    Left,
}

impl Seat {
    /// What the status line says, whole and where there is little room; `None` in the crew's own window.
    pub fn mark(self) -> Option<(String, String)> {
        let pair = |whole: &str, short: &str| Some((whole.to_string(), short.to_string()));
        match self {
            Seat::Crew | Seat::Starting | Seat::Taken(_) => None,
            Seat::Viewer(Some(id)) => Some((
                format!("viewer · crew runs in process {id}"),
                format!("viewer of {id}"),
            )),
            Seat::Viewer(None) => pair("viewer · crew runs in another process", "viewer"),
            Seat::Taking => pair("taking the crew over…", "taking over…"),
            Seat::Left => pair("viewer · no crew runs", "viewer · no crew"),
        }
    }

    /// Why `action` does nothing here: it needs the process that runs the crew. `None`: it does.
    pub(in crate::ui) fn refuses(self, action: Action) -> Option<String> {
        let is_the_crews = matches!(
            action,
            Action::Models
                | Action::Compact
                | Action::Kill
                | Action::ApproveForTeam
                | Action::Force
        );
        match self {
            Seat::Crew | Seat::Starting | Seat::Taking | Seat::Taken(_) => None,
            Seat::Viewer(_) | Seat::Left if !is_the_crews => None,
            Seat::Viewer(Some(id)) => Some(format!(
                "Only the crew's own window can do that (process {id})."
            )),
            Seat::Viewer(None) => Some("Only the crew's own window can do that.".into()),
            Seat::Left => Some("No crew runs here: start it with crewdeck --resume.".into()),
        }
    }

    /// What a viewer can and can not do, or that it is one no more, in as many words as fit into `columns`; `None` in
    /// the crew's own window.
    pub(in crate::ui) fn line(self, columns: usize) -> Option<String> {
        let own = |texts: &[&str]| texts.iter().map(|t| (*t).to_string()).collect();
        let texts: Vec<String> = match self {
            Seat::Crew | Seat::Starting | Seat::Taking => return None,
            Seat::Viewer(_) => own(&[
                "Here you can answer, write messages, change the board and merge, not stop agents or choose models. When that process ends, this window takes over",
                "Here you can answer, write messages, change the board, merge; not stop agents. When that process ends, this window takes over",
                "You can answer, write, merge, not stop agents; takes over when that process ends",
                "You can answer, write messages, merge; not stop agents",
                "You can answer, write and merge",
            ]),
            Seat::Taken(Some(id)) => vec![
                format!(
                    "Process {id} is gone: the crew runs in this window now, from where it stood there"
                ),
                format!("Process {id} is gone: the crew runs here now"),
                "The crew runs here now".into(),
            ],
            Seat::Taken(None) => {
                own(&["The crew runs in this window now", "The crew runs here now"])
            }
            Seat::Left => own(&[
                "Here you can read, write messages, change the board and merge. To go on with the crew, quit and start crewdeck --resume",
                "To go on with the crew: quit, then crewdeck --resume",
                "To go on: crewdeck --resume",
            ]),
        };
        let fits = texts.iter().find(|t| width(t) <= columns);
        fits.or(texts.last()).cloned()
    }

    /// What goes on when this screen is left, for the hint before; `None`: the crew ends with it.
    pub(in crate::ui) fn leaves(self) -> Option<&'static str> {
        match self {
            Seat::Crew | Seat::Starting | Seat::Taking | Seat::Taken(_) => None,
            Seat::Viewer(_) => Some(" The crew goes on."),
            Seat::Left => Some(""),
        }
    }

    /// Whether the crew runs here, so that keys for it reach it.
    pub(in crate::ui) fn is_crew(self) -> bool {
        match self {
            Seat::Crew | Seat::Starting | Seat::Taking | Seat::Taken(_) => true,
            Seat::Viewer(_) | Seat::Left => false,
        }
    }
}

impl App {
    /// Whether the crew that is shown ends with this dashboard: not where it runs elsewhere or is a recording.
    pub(in crate::ui) fn holds_crew(&self) -> bool {
        self.seat.is_crew() && self.replay.is_none()
    }

    /// How many agents would be stopped in their work by leaving.
    pub(in crate::ui) fn at_stake(&self) -> usize {
        if self.holds_crew() { self.busy() } else { 0 }
    }

    /// How many background jobs would be ended by leaving.
    pub(in crate::ui) fn jobs_at_stake(&self) -> usize {
        if self.holds_crew() {
            self.model.jobs.running()
        } else {
            0
        }
    }

    /// Takes a seat.
    pub fn sit(&mut self, seat: Seat) {
        self.dirty |= self.seat != seat;
        self.seat = seat;
    }

    /// The person wants something of the crew: that it was taken over is news no more.
    pub fn settle(&mut self) {
        if let Seat::Taken(_) = self.seat {
            self.sit(Seat::Crew);
        }
    }

    /// Forgets what was heard of a crew, and nothing that the person has written or chosen for the screen. What is new
    /// in the state has to be put on one of the two sides here.
    pub fn forget_crew(&mut self) {
        let mut event_log = std::mem::take(&mut self.model.event_log);
        event_log.forget_crew();
        self.model = Model {
            event_log,
            ..Model::new(self.prefs.zone.clone())
        };
        self.first = First::default();
        self.diff = Changes::default();
        self.keys = KeyState {
            prefix: self.keys.prefix.take(),
            before_todo: self.keys.before_todo.take(),
            ..KeyState::default()
        };
        self.dirty = true;
    }
}
