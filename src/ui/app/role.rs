//! The role of this dashboard: whether the crew runs in this process or in another one.

use jiff::tz::TimeZone;

use crate::domain::timestamp::Timestamp;
use crate::ui::app::onboarding::Onboarding;
use crate::ui::app::{App, KeyState};
use crate::ui::keymap::Action;
use crate::ui::model::CrewModel;
use crate::ui::text::{format_time, width};

/// An interruption of the connection to a hub.
#[derive(Debug, Clone, PartialEq)]
pub struct HubOutage {
    /// Why the hub cannot be reached, in a few words.
    pub cause: String,
    pub since: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub enum SessionRole {
    /// The crew runs in this process.
    #[default]
    Crew,
    /// The crew is starting in this process. Earlier events may still be loading.
    Starting,
    /// A viewer, a dashboard that only watches: the crew runs in another process. Holds the id of that process, if
    /// known.
    Viewer(Option<u32>),
    /// A viewer of a crew on a hub, from any clone of the project and any machine.
    HubViewer {
        /// The name of the crew on the hub.
        crew: String,
        /// The host that leads the crew; `None` if no host leads it.
        host: Option<String>,
        /// Set while the hub cannot be reached. The rest is then what was known before.
        outage: Option<HubOutage>,
    },
    /// The process that ran the crew has ended, and this process is taking over its crew.
    Taking,
    /// This process has taken over the crew from the process with this id, if known. The first action of the user
    /// changes the role to [`SessionRole::Crew`].
    Taken(Option<u32>),
    /// The process that ran the crew has ended, and its crew could not be taken over.
    NoCrew,
}

impl SessionRole {
    /// Returns the interruption of the connection to the hub; `None` while there is none, and without a hub.
    pub fn outage(&self) -> Option<&HubOutage> {
        match self {
            SessionRole::HubViewer { outage, .. } => outage.as_ref(),
            SessionRole::Crew
            | SessionRole::Starting
            | SessionRole::Viewer(_)
            | SessionRole::Taking
            | SessionRole::Taken(_)
            | SessionRole::NoCrew => None,
        }
    }

    /// Returns the text about the role for the status line, first in a long and then in a short form; `None` if the
    /// crew runs or starts in this process. Times are shown in `zone`.
    pub fn status_label(&self, zone: &TimeZone) -> Option<(String, String)> {
        let pair = |whole: &str, short: &str| Some((whole.to_string(), short.to_string()));
        match self {
            SessionRole::Crew | SessionRole::Starting | SessionRole::Taken(_) => None,
            SessionRole::Viewer(Some(id)) => Some((
                format!("viewer · crew runs in process {id}"),
                format!("viewer of {id}"),
            )),
            SessionRole::Viewer(None) => pair("viewer · crew runs in another process", "viewer"),
            SessionRole::HubViewer {
                crew,
                outage: Some(HubOutage { cause, since }),
                ..
            } => {
                let at = format_time(*since, zone);
                Some((
                    format!("viewing {crew} · hub unreachable since {at}: {cause}"),
                    format!("{crew} · no hub since {at}"),
                ))
            }
            SessionRole::HubViewer {
                crew,
                host: Some(host),
                outage: None,
            } => Some((
                format!("viewing {crew}, led on {host}"),
                format!("viewer of {crew}"),
            )),
            SessionRole::HubViewer {
                crew,
                host: None,
                outage: None,
            } => Some((
                format!("viewing {crew} · no host leads it"),
                format!("{crew} · no lead"),
            )),
            SessionRole::Taking => pair("taking over the crew…", "taking over…"),
            SessionRole::NoCrew => pair("viewer · no crew runs", "viewer · no crew"),
        }
    }

    /// Returns the message that says why `action` is not available in this process: another process runs the crew, or
    /// none does. Returns `None` if it is available here.
    pub(in crate::ui) fn refuses(&self, action: Action) -> Option<String> {
        match self {
            SessionRole::Crew
            | SessionRole::Starting
            | SessionRole::Taking
            | SessionRole::Taken(_) => None,
            SessionRole::Viewer(_) | SessionRole::NoCrew if !action.needs_crew_process() => None,
            SessionRole::HubViewer { .. }
                if !action.needs_crew_process() && !is_about_branches(action) =>
            {
                None
            }
            SessionRole::Viewer(Some(id)) => Some(format!(
                "Only the crewdeck that runs this crew can do that: use its window (process {id})."
            )),
            SessionRole::Viewer(None) => {
                Some("Only the crewdeck that runs this crew can do that: use its window.".into())
            }
            SessionRole::HubViewer {
                host: Some(host), ..
            } => Some(format!(
                "Only host {host}, which leads this crew, can do that: use its dashboard."
            )),
            SessionRole::HubViewer { host: None, .. } => Some(
                "No host leads this crew: quit, then start crewdeck --hub again to lead it from here."
                    .into(),
            ),
            SessionRole::NoCrew => {
                Some("No crew is running. Quit, then run crewdeck --resume.".into())
            }
        }
    }

    /// Returns a tip about the role for the tour line: the longest form that fits into `columns`, or the shortest form
    /// if none fits. Returns `None` for [`SessionRole::Crew`], [`SessionRole::Starting`] and [`SessionRole::Taking`].
    pub(in crate::ui) fn line(&self, columns: usize) -> Option<String> {
        let own = |texts: &[&str]| texts.iter().map(|t| (*t).to_string()).collect();
        let texts: Vec<String> = match self {
            SessionRole::Crew | SessionRole::Starting | SessionRole::Taking => return None,
            SessionRole::Viewer(_) => own(&[
                "You can answer requests, write messages, change the board and merge here, but not stop agents or choose models. When the crew's process ends, the crew continues in this window",
                "You can answer requests, write, change the board and merge, but not stop agents. When its process ends, the crew continues here",
                "You can answer, write and merge. If its process ends, the crew continues here",
                "You can answer, write and merge, not stop agents",
                "You can answer requests and merge",
            ]),
            SessionRole::HubViewer {
                outage: Some(HubOutage { cause, .. }),
                ..
            } => vec![
                format!(
                    "The hub cannot be reached: {cause}. What is shown is from before, and what you change or send fails. crewdeck connects again by itself"
                ),
                format!("The hub cannot be reached: {cause}. What is shown is from before"),
                format!("No hub: {cause}"),
                "The hub cannot be reached".into(),
            ],
            SessionRole::HubViewer { host: Some(_), .. } => own(&[
                "You can answer requests, write messages and change the board here, but not merge, stop agents or choose models",
                "You can answer requests, write and change the board, but not merge",
                "You can answer requests and write",
            ]),
            SessionRole::HubViewer { host: None, .. } => own(&[
                "No host leads this crew. To lead it from here, quit and start crewdeck --hub again",
                "To lead: quit, then start crewdeck --hub",
                "No host leads",
            ]),
            SessionRole::Taken(Some(id)) => vec![
                format!(
                    "Process {id} ended. The crew now runs in this window and continues where it was"
                ),
                format!("Process {id} ended. The crew now runs here"),
                "The crew now runs here".into(),
            ],
            SessionRole::Taken(None) => {
                own(&["The crew now runs in this window", "The crew now runs here"])
            }
            SessionRole::NoCrew => own(&[
                "You can read, write messages, change the board and merge here. To continue the crew, quit and run crewdeck --resume",
                "To continue: quit, then run crewdeck --resume",
                "Run crewdeck --resume",
            ]),
        };
        let fits = texts.iter().find(|t| width(t) <= columns);
        fits.or(texts.last()).cloned()
    }

    /// Returns the text that follows "press the key again to quit" in a process that does not run the crew. It says
    /// what happens to the crew; empty if no crew runs. Returns `None` if quitting ends a crew.
    pub(in crate::ui) fn quit_suffix(&self) -> Option<&'static str> {
        match self {
            SessionRole::Viewer(_) | SessionRole::HubViewer { host: Some(_), .. } => {
                Some(" The crew keeps running.")
            }
            SessionRole::HubViewer { host: None, .. } | SessionRole::NoCrew => Some(""),
            _ => None,
        }
    }

    /// Returns whether the crew runs in this process, is starting in it, or is being taken over by it.
    pub(in crate::ui) fn is_crew(&self) -> bool {
        !matches!(
            self,
            SessionRole::Viewer(_) | SessionRole::HubViewer { .. } | SessionRole::NoCrew
        )
    }
}

/// Returns whether the action reads or changes branches and worktrees, which are in the clones of the hosts.
fn is_about_branches(action: Action) -> bool {
    matches!(
        action,
        Action::Merge | Action::MergeAll | Action::Diff | Action::RemoveWorktree
    )
}

impl App {
    /// Returns whether quitting ends the shown crew. False in a viewer, which only watches a crew, and in a replay.
    pub(in crate::ui) fn holds_crew(&self) -> bool {
        self.role.is_crew() && self.replay.is_none()
    }

    /// Returns the number of busy agents that quitting would stop.
    pub(in crate::ui) fn at_stake(&self) -> usize {
        if self.holds_crew() { self.busy() } else { 0 }
    }

    /// Returns the number of background jobs that quitting would end.
    pub(in crate::ui) fn jobs_at_stake(&self) -> usize {
        if self.holds_crew() {
            self.model.jobs.running_count()
        } else {
            0
        }
    }

    pub fn set_role(&mut self, role: SessionRole) {
        self.dirty |= self.role != role;
        self.role = role;
    }

    /// Removes the message that a crew was taken over. Called at the user's first action.
    pub fn dismiss_takeover(&mut self) {
        if let SessionRole::Taken(_) = self.role {
            self.set_role(SessionRole::Crew);
        }
    }

    /// Resets everything that comes from events, and keeps what the user has written or chosen. A new field of [`App`]
    /// must be reset or kept here.
    pub fn forget_crew(&mut self) {
        let mut event_log = std::mem::take(&mut self.model.event_log);
        event_log.forget_crew();
        self.model = CrewModel {
            event_log,
            ..CrewModel::new(self.prefs.zone.clone())
        };
        self.apply_image_drawing();
        self.onboarding = Onboarding::default();
        self.keys = KeyState {
            prefix: self.keys.prefix.take(),
            ..KeyState::default()
        };
        self.dirty = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn hub_viewer(host: Option<&str>) -> SessionRole {
        SessionRole::HubViewer {
            crew: "web".into(),
            host: host.map(String::from),
            outage: None,
        }
    }

    #[test]
    fn viewer_of_a_hub_names_the_host_of_the_lead() {
        let role = hub_viewer(Some("gpu-box"));
        let (whole, _) = role.status_label(&TimeZone::UTC).unwrap();
        assert_eq!(whole, "viewing web, led on gpu-box");
        let why = role.refuses(Action::Models).unwrap();
        assert!(why.contains("host gpu-box"), "{why}");
        assert!(role.refuses(Action::Merge).is_some());
        assert_eq!(role.refuses(Action::Waiting), None);
        assert!(!role.is_crew());
    }

    #[test]
    fn viewer_without_a_lead_says_how_to_lead_the_crew() {
        let role = hub_viewer(None);
        let (whole, _) = role.status_label(&TimeZone::UTC).unwrap();
        assert_eq!(whole, "viewing web · no host leads it");
        let why = role.refuses(Action::Models).unwrap();
        assert!(why.contains("start crewdeck --hub again"), "{why}");
        assert_eq!(role.quit_suffix(), Some(""));
    }

    #[test]
    fn outage_of_the_hub_is_shown_with_its_time_and_cause() {
        let role = SessionRole::HubViewer {
            crew: "web".into(),
            host: Some("gpu-box".into()),
            outage: Some(HubOutage {
                cause: "no answer within 3 s".into(),
                since: Timestamp(43_380.0),
            }),
        };
        let label = role.status_label(&TimeZone::UTC).unwrap();
        let expected = (
            "viewing web · hub unreachable since 12:03: no answer within 3 s".to_string(),
            "web · no hub since 12:03".to_string(),
        );
        assert_eq!(label, expected);
        let line = role.line(80).unwrap();
        assert!(line.contains("no answer within 3 s"), "{line}");
        assert!(width(&line) <= 80, "{line}");
        assert_eq!(hub_viewer(None).outage(), None);
    }
}
