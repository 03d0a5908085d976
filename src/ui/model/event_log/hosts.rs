//! The lines of the event log about the hosts of a crew on a hub.

use crate::domain::host::{HostPresence, HostState};
use crate::domain::text::join_names;
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::{About, LogSeverity, NewLogLine, Topic};
use crate::ui::model::team_book::held_tasks;

/// Maximum number of tasks that a line names. Further tasks are only counted.
const TASKS_MAX: usize = 12;

/// Returns the lines for a change of the hosts: one for each host that has joined, left, was lost or begins to drain.
pub(in crate::ui) fn hosts_changed(model: &CrewModel, after: &[HostState]) -> Vec<NewLogLine> {
    let lines = after.iter().filter_map(|host| {
        let line = host_changed(model, host)?;
        Some(line.by(host.info.name.as_str()))
    });
    lines.collect()
}

fn host_changed(model: &CrewModel, host: &HostState) -> Option<NewLogLine> {
    let name = &host.info.name;
    let was = model.team.known(name.as_str()).map(|was| &was.state);
    let same = was.filter(|was| was.session == host.session);
    let is_unchanged = same.is_some_and(|was| was.presence == host.presence);
    let line = |words: String| NewLogLine::new(Topic::Team, words);
    match host.presence {
        HostPresence::Present if is_unchanged => {
            let begins = host.info.is_draining && same.is_some_and(|was| !was.info.is_draining);
            begins.then(|| {
                line(format!(
                    "host {name} is draining: it claims no more tasks and ends when its teammates have finished"
                ))
            })
        }
        HostPresence::Present => Some(line(format!("host {name} joined"))),
        // A host that had left before this process knew it is no news.
        HostPresence::Left => {
            (was.is_some() && !is_unchanged).then(|| line(format!("host {name} left")))
        }
        HostPresence::Lost => (!is_unchanged).then(|| lost(model, host)),
    }
}

/// Returns the line for a lost host, which names the tasks that it held. Enter opens the task if it held only one.
fn lost(model: &CrewModel, host: &HostState) -> NewLogLine {
    let name = &host.info.name;
    let tasks = held_tasks(&model.board, host);
    let names: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    let line = |words: String| NewLogLine::new(Topic::Team, words).tone(LogSeverity::Warn);
    match tasks.as_slice() {
        [] => line(format!("host {name} is lost; it held no task")),
        [task] => line(format!(
            "host {name} is lost; it held {task}, which is offered again"
        ))
        .about(About::Task(*task)),
        all => {
            let held = join_names(&names, TASKS_MAX, all.len());
            line(format!(
                "host {name} is lost; it held {held}, which are offered again"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use crate::domain::host::{HostKind, HostPresence};
    use crate::domain::notification::NotifyKind;
    use crate::domain::timestamp::Timestamp;
    use crate::ui::fixture::{
        apply_events, busy, host, hosts, hosts_event, hosts_with_one_lost, three_hosts,
    };

    #[test]
    fn changes_of_hosts_are_logged_once() {
        let mut state = busy(160, 45);
        apply_events(&mut state, three_hosts());
        let first = state.model.event_log.len();
        let mut drains = hosts();
        drains[0].info.is_draining = true;
        let mut left = hosts_with_one_lost();
        left[0].presence = HostPresence::Left;
        let mut joins = left.clone();
        joins.push(host("zeta", HostKind::Worker));
        let events = [
            hosts(),
            drains,
            hosts_with_one_lost(),
            left,
            joins.clone(),
            joins,
        ];
        apply_events(&mut state, events.map(hosts_event).into());
        let lines = state.model.event_log.lines().skip(first);
        let words: Vec<&str> = lines.map(|line| line.words.as_str()).collect();
        assert_eq!(
            words,
            [
                "host gpu-box is draining: it claims no more tasks and ends when its teammates have finished",
                "host mini is lost; it held #5, which is offered again",
                "host gpu-box left",
                "host zeta joined",
            ]
        );
    }

    #[test]
    fn lost_host_notifies_the_user_once() {
        let mut state = busy(160, 45);
        apply_events(&mut state, three_hosts());
        state.notifier.set_kinds(&[NotifyKind::Trouble]);
        state.notifier.take_due(Timestamp(state.now.0 + 100.0));
        let lost = hosts_event(hosts_with_one_lost());
        let done = apply_events(&mut state, vec![lost.clone(), lost]);
        let texts: Vec<String> = done
            .into_iter()
            .filter_map(|effect| match effect {
                crate::ui::Effect::Notify(text) => Some(text),
                _ => None,
            })
            .chain(state.notifier.take_due(Timestamp(state.now.0 + 200.0)))
            .collect();
        assert_eq!(texts, ["host mini is lost"]);
    }
}
