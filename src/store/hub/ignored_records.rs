//! Notices about stored records that are ignored: what is missing because of it, and what the user can do. Does no I/O.

use super::task_keys::{is_import, task_of};

/// Maximum number of characters of a subject or a name in a notice.
const SHOWN_MAX: usize = 200;

/// What a record is about.
struct IgnoredRecord {
    /// Names the task, message or request.
    what: String,
    /// Continues the sentence "it is ignored"; may be empty.
    effect: &'static str,
    /// What the user can do; empty if nothing is to be done.
    remedy: &'static str,
}

/// Returns the notice about a message without a valid signature. `subject` is its subject, with or without
/// `crewdeck.CREW.` at its beginning. Another program has chosen it.
pub(super) fn unsigned_text(subject: &str) -> String {
    let shown = shown(subject);
    let IgnoredRecord {
        what,
        effect,
        remedy,
    } = IgnoredRecord::of(&shown);
    let remedy = match remedy {
        "" => String::new(),
        remedy => format!("{remedy}, and "),
    };
    format!(
        "{what} is ignored{effect}, because the message {shown} on the hub is not signed with the secret of this crew: {remedy}check which programs can write to the hub"
    )
}

/// Returns the notice about a record that is signed, but cannot be read. `subject` is as for [`unsigned_text`].
pub(super) fn unreadable_text(subject: &str, why: &str) -> String {
    let IgnoredRecord {
        what,
        effect,
        remedy,
    } = IgnoredRecord::of(&shown(subject));
    let remedy = match remedy {
        "" => "delete it with the tools of NATS",
        remedy => remedy,
    };
    format!(
        "{what} is ignored{effect}, because its record on the hub cannot be read ({why}): update crewdeck, or {remedy}"
    )
}

fn shown(subject: &str) -> String {
    let shown = subject.chars().filter(|c| !c.is_control());
    shown.take(SHOWN_MAX).collect()
}

impl IgnoredRecord {
    fn of(subject: &str) -> IgnoredRecord {
        let record = |what: String, effect, remedy| IgnoredRecord {
            what,
            effect,
            remedy,
        };
        let below = match subject.strip_prefix("crewdeck.") {
            Some(rest) => rest.split_once('.').map_or(rest, |(_crew, below)| below),
            None => subject,
        };
        let parts: Vec<&str> = below.split('.').collect();
        let task = below.strip_prefix("tasks.").and_then(task_of);
        if let Some(id) = task {
            return record(
                format!("task {id}"),
                " and missing on the board",
                "add the task again",
            );
        }
        match parts.as_slice() {
            ["tasks", key] if is_import(key) => record(
                "an import of tasks".into(),
                " and its tasks are missing on the board",
                "add the tasks again",
            ),
            ["state", "request", id] => record(
                format!("request {id}"),
                " and cannot be decided",
                "write to the agent that has asked, so that it asks again",
            ),
            // A name has no `=`, which replaces its dots.
            ["state", "member", key] => record(
                format!("teammate {}", key.replace('=', ".")),
                " and missing in the team",
                "spawn it again, or start its worker again",
            ),
            ["state", "position", key] => record(
                format!("the read position of {}", key.replace('=', ".")),
                ", so that messages can be delivered again",
                "",
            ),
            ["state", "host", name] => record(
                format!("a report of the host {name}"),
                " until the next",
                "",
            ),
            ["mail", name] => record(
                format!("a message to {name}"),
                " and not delivered",
                "send it again if it is yours",
            ),
            ["leases", ..] => record(
                "a lease".into(),
                ", but counts as held",
                "remove it with the tools of NATS",
            ),
            ["events", host] => record(
                format!("what the host {host} has reported of its agents"),
                " and missing in their conversations here",
                "",
            ),
            _ => record("a message".into(), "", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn notice_names_what_is_missing_and_what_to_do() {
        assert_eq!(
            unsigned_text("tasks.5"),
            "task #5 is ignored and missing on the board, because the message tasks.5 on the hub is not signed with the secret of this crew: add the task again, and check which programs can write to the hub"
        );
        assert_eq!(
            unreadable_text("tasks.5", "expected a map"),
            "task #5 is ignored and missing on the board, because its record on the hub cannot be read (expected a map): update crewdeck, or add the task again"
        );
        for (subject, begin) in [
            ("tasks.05", "a message is ignored,"),
            ("tasks.import-a-1", "an import of tasks is ignored and its"),
            (
                "crewdeck.web.mail.bob",
                "a message to bob is ignored and not",
            ),
            ("crewdeck.web.state.request.r1", "request r1 is ignored and"),
            (
                "crewdeck.web.state.member.a=b",
                "teammate a.b is ignored and",
            ),
            ("crewdeck.web.state.host.gpu", "a report of the host gpu is"),
            ("crewdeck.web.leases.host.gpu", "a lease is ignored, but"),
            ("crewdeck.web.events.gpu", "what the host gpu has reported"),
            ("crewdeck", "a message is ignored,"),
            ("", "a message is ignored,"),
        ] {
            let text = unsigned_text(subject);
            assert!(text.starts_with(begin), "{subject}: {text}");
        }
    }

    #[test]
    fn subject_of_another_program_is_bounded_and_has_no_control_characters() {
        let text = unsigned_text(&format!("mail.\u{1b}{}", "x".repeat(5000)));
        assert!(text.len() < 800 && !text.contains('\u{1b}'), "{text}");
    }
}
