//! The lines of the event log about the hosts of a crew on a hub.

use crate::domain::host::{HostPresence, HostState};
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::{LogSeverity, NewLogLine, Topic};

/// Returns the lines for a change of the hosts: one for each host that has joined, left or was lost.
pub(in crate::ui) fn hosts_changed(model: &CrewModel, after: &[HostState]) -> Vec<NewLogLine> {
    let before = &model.hosts;
    let lines = after.iter().filter_map(|host| {
        let name = &host.info.name;
        let was = before.iter().find(|h| h.info.name == *name);
        if was.is_some_and(|was| was.presence == host.presence && was.session == host.session) {
            return None;
        }
        let (words, tone) = match host.presence {
            HostPresence::Present => (format!("host {name} joined"), LogSeverity::Plain),
            HostPresence::Left => (format!("host {name} left"), LogSeverity::Plain),
            HostPresence::Lost => (
                format!("host {name} is lost: its tasks are offered again"),
                LogSeverity::Warn,
            ),
        };
        Some(NewLogLine::new(Topic::Team, words).tone(tone))
    });
    lines.collect()
}
