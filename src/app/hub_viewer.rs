//! The viewer of a crew on a hub that another host leads: shows it from any clone of the project, and steers it through the
//! shared state. It does not join the crew.

use std::path::Path;

use super::hub::HubPlan;
use super::{checks, new_id, now, worktree_commands};
use crate::crew::{HubFeed, HubUpdate, Runner, Viewer, ViewerParts};
use crate::domain::host::HostName;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{NoticeLevel, SessionInfo};
use crate::protocol::{CrewEvent, Event, EventKind, EventSender, SentCommand};
use crate::ui::{HubOutage, SessionRole};

/// Follows a crew on a hub that another host leads, so that this process can show it.
pub struct HubViewerSession {
    viewer: Viewer,
    feed: HubFeed,
    /// The name of the crew on the hub.
    crew: String,
    /// The address of the hub, for notices.
    hub: String,
    /// Set while the hub cannot be reached.
    outage: Option<HubOutage>,
    /// The host of the lead; `None` if no host leads the crew.
    lead: Option<HostName>,
    session: Option<SessionInfo>,
    /// The number of received events.
    seq: u64,
}

/// What a viewer does before it shows an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStep {
    Show,
    /// The event is the first one of another session of the lead: the agents of the earlier session have ended.
    EndLead,
    /// The event repeats what is shown already.
    Skip,
}

impl HubViewerSession {
    /// Starts to follow the crew of `plan`, which the host `lead` leads. `has_checks` says whether the settings have checks.
    pub fn start(
        root: &Path,
        plan: &HubPlan,
        lead: Option<HostName>,
        event_sender: EventSender,
        has_checks: bool,
    ) -> HubViewerSession {
        let stores = plan.stores(root);
        HubViewerSession {
            feed: HubFeed::start(stores.clone(), event_sender.clone(), new_id),
            viewer: Viewer::start(ViewerParts {
                root: root.to_path_buf(),
                stores,
                runner: Runner::Hub(lead.clone()),
                has_checks,
                event_sender,
                merge_checks: checks::for_merge,
                worktree_commands: worktree_commands::load_or_none,
                clock: now,
                new_id,
            }),
            crew: plan.settings.address.crew().to_string(),
            hub: plan.settings.address.to_string(),
            outage: None,
            lead,
            session: None,
            seq: 0,
        }
    }

    /// Waits for the next update. No update is lost if the future is dropped.
    pub async fn next(&mut self) -> HubUpdate {
        self.feed.next().await
    }

    pub fn role(&self) -> SessionRole {
        SessionRole::HubViewer {
            crew: self.crew.clone(),
            host: self.lead.as_ref().map(ToString::to_string),
            outage: self.outage.clone(),
        }
    }

    /// Records at the time `at` that the hub cannot be reached, with the cause, or with `None` that it can be reached again.
    /// Returns a notice for the user if this is more than another cause.
    pub fn set_outage(
        &mut self,
        cause: Option<String>,
        at: Timestamp,
    ) -> Option<(NoticeLevel, String)> {
        let before = self.outage.take();
        let notice = outage_notice(&self.hub, before.is_some(), cause.as_deref());
        let since = before.map_or(at, |outage| outage.since);
        self.outage = cause.map(|cause| HubOutage { cause, since });
        notice
    }

    /// Records which host leads the crew. Returns a notice for the user if this is a change.
    pub fn set_lead(&mut self, lead: Option<HostName>) -> Option<(NoticeLevel, String)> {
        if self.lead == lead {
            return None;
        }
        self.viewer.set_runner(Runner::Hub(lead.clone()));
        let before = std::mem::replace(&mut self.lead, lead);
        Some(lead_notice(before.as_ref(), self.lead.as_ref()))
    }

    /// Records the session that an event describes, and returns what to do before the event is shown.
    pub fn note(&mut self, event: &EventKind) -> EventStep {
        let EventKind::Crew(CrewEvent::Ready(session)) = event else {
            return EventStep::Show;
        };
        if session.checks {
            self.viewer.note_checks();
        }
        session_step(&mut self.session, session)
    }

    /// Returns an event with the next number.
    pub fn number(&mut self, kind: EventKind, at: Timestamp) -> Event {
        self.seq += 1;
        let seq = self.seq;
        Event { seq, at, kind }
    }

    /// Queues a command without waiting.
    ///
    /// # Errors
    /// Returns the command if the queue is full.
    pub fn submit(&self, command: SentCommand) -> Result<(), SentCommand> {
        self.viewer.submit(command)
    }
}

/// The host of the lead sends the description of the session again from time to time.
fn session_step(known: &mut Option<SessionInfo>, new: &SessionInfo) -> EventStep {
    match known.replace(new.clone()) {
        Some(before) if before == *new => EventStep::Skip,
        Some(before) if before.session != new.session => EventStep::EndLead,
        Some(_) | None => EventStep::Show,
    }
}

/// Returns the notice about the begin or the end of an interruption of the connection to `hub`; `None` if it is neither.
fn outage_notice(
    hub: &str,
    was_interrupted: bool,
    cause: Option<&str>,
) -> Option<(NoticeLevel, String)> {
    match (was_interrupted, cause) {
        (false, Some(cause)) => Some((
            NoticeLevel::Warn,
            format!(
                "The hub {hub} cannot be reached: {cause}. What is shown is from before. crewdeck connects again by itself."
            ),
        )),
        (true, None) => Some((
            NoticeLevel::Info,
            format!("The hub {hub} can be reached again."),
        )),
        (false, None) | (true, Some(_)) => None,
    }
}

fn lead_notice(before: Option<&HostName>, now: Option<&HostName>) -> (NoticeLevel, String) {
    match (before, now) {
        (_, Some(host)) => (
            NoticeLevel::Info,
            format!("Host {host} now leads this crew."),
        ),
        (Some(host), None) => (
            NoticeLevel::Warn,
            format!(
                "Host {host} no longer leads this crew, and no other host does: quit, then start crewdeck --hub again to lead it from here."
            ),
        ),
        (None, None) => (
            NoticeLevel::Warn,
            "No host leads this crew: quit, then start crewdeck --hub again to lead it from here."
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::permission::SettingsPermissions;
    use pretty_assertions::assert_eq;

    fn session(id: &str, model: &str) -> SessionInfo {
        SessionInfo {
            session: id.into(),
            root: "~/web".into(),
            provider: "script".into(),
            model: model.into(),
            scripted: true,
            git: true,
            window: None,
            tools: Vec::new(),
            earlier: false,
            allowed: SettingsPermissions::default(),
            checks: false,
        }
    }

    #[test]
    fn repeated_description_is_skipped_and_another_session_ends_the_lead() {
        let mut known = None;
        for (new, step) in [
            (session("a", "small"), EventStep::Show),
            (session("a", "small"), EventStep::Skip),
            (session("a", "large"), EventStep::Show),
            (session("b", "large"), EventStep::EndLead),
            (session("b", "large"), EventStep::Skip),
        ] {
            assert_eq!(session_step(&mut known, &new), step, "{new:?}");
        }
    }

    #[test]
    fn begin_and_end_of_an_outage_have_a_notice() {
        let notice = |was_interrupted, cause| outage_notice("nats://hub", was_interrupted, cause);
        let (level, text) = notice(false, Some("no answer within 3 s")).unwrap();
        assert_eq!(level, NoticeLevel::Warn);
        let begin = "The hub nats://hub cannot be reached: no answer within 3 s.";
        assert!(text.starts_with(begin), "{text}");
        assert_eq!(notice(true, Some("the login is rejected")), None);
        let (level, text) = notice(true, None).unwrap();
        assert_eq!(
            (level, &*text),
            (
                NoticeLevel::Info,
                "The hub nats://hub can be reached again."
            )
        );
        assert_eq!(notice(false, None), None);
    }

    #[test]
    fn notice_says_who_leads_and_how_to_lead() {
        let host = HostName::parse("gpu").unwrap();
        let (level, text) = lead_notice(Some(&host), None);
        assert_eq!(level, NoticeLevel::Warn);
        assert!(text.contains("start crewdeck --hub again"), "{text}");
        let (level, text) = lead_notice(None, Some(&host));
        assert_eq!(
            (level, &*text),
            (NoticeLevel::Info, "Host gpu now leads this crew.")
        );
    }
}
