//! Finds unread messages. The check offers no fix, because removing an unread message would lose it.

use crate::doctor::units::ago;
use crate::doctor::{CrewPresence, DoctorContext, Finding};
use crate::domain::team::{MemberStatus, Team};
use crate::domain::text::count_noun;
use crate::domain::timestamp::Timestamp;
use crate::store::{self, Mailbox, Roster, UnreadCount};

const CHECK: &str = "mail";

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    if !store::has_state(&context.root) {
        return Vec::new();
    }
    let read = Mailbox::open(&context.root).count_unread();
    let read = read.and_then(|mail| Ok((mail, Roster::open(&context.root).read()?)));
    match read {
        Ok((waiting, team)) => evaluate(&waiting, &team, &context.crew, context.now),
        Err(error) => vec![super::unreadable(CHECK, &error)],
    }
}

fn evaluate(
    waiting: &[UnreadCount],
    team: &Team,
    crew: &CrewPresence,
    now: Timestamp,
) -> Vec<Finding> {
    let found: Vec<Finding> = waiting
        .iter()
        .map(|inbox| {
            let name = &inbox.name;
            let oldest = match (inbox.count, ago(now, inbox.oldest)) {
                (_, None) => String::new(),
                (1, Some(ago)) => format!(", sent {ago}"),
                (_, Some(ago)) => format!(", the oldest sent {ago}"),
            };
            let what = format!("{} for {name}{oldest}", count_noun(inbox.count, "message"));
            let member = team.find(name);
            let is_here = name.is_lead() || member.is_some_and(|m| m.status != MemberStatus::Shutdown);
            if name.is_user() {
                return Finding::warn(CHECK, what, "read them: crewdeck mail read user");
            }
            if is_here && *crew != CrewPresence::None {
                let them = if inbox.count == 1 { "it" } else { "them" };
                return Finding::ok(CHECK, format!("{what}: the running crew will deliver {them}"));
            }
            if !name.is_lead() && member.is_none() {
                return Finding::warn(
                    CHECK,
                    format!("{what}: {name} was never on the team"),
                    format!("read .team/inbox/{name}.jsonl, or spawn a teammate with that name to receive them"),
                );
            }
            Finding::warn(
                CHECK,
                format!("{what}: {name} is not running"),
                format!("{name} receives them when it runs again; to print them: crewdeck mail list {name}; to print them and mark them read: crewdeck mail read {name}"),
            )
        })
        .collect();
    if found.is_empty() {
        return vec![Finding::ok(CHECK, "no unread messages")];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use crate::domain::ids::Name;
    use crate::domain::team::Member;
    use pretty_assertions::assert_eq;

    #[test]
    fn unread_messages_are_reported_by_recipient() {
        let party = |name: &str| Name::party(name).unwrap();
        let waiting = |name: &str, count| UnreadCount {
            name: party(name),
            count,
            oldest: Timestamp(40.0),
        };
        let team = Team {
            members: vec![Member::new(party("bob"), "r")],
            ..Team::default()
        };
        let all = [
            waiting("bob", 2),
            waiting("ghost", 1),
            waiting("lead", 1),
            waiting("user", 3),
        ];
        let texts = |crew: &CrewPresence| -> Vec<(Level, String)> {
            let found = evaluate(&all, &team, crew, Timestamp(100.0));
            found.into_iter().map(|f| (f.level, f.text)).collect()
        };
        let warn = |text: &str| (Level::Warn, text.to_string());
        let ok = |text: &str| (Level::Ok, text.to_string());
        assert_eq!(
            texts(&CrewPresence::None),
            [
                warn("2 messages for bob, the oldest sent 60 s ago: bob is not running"),
                warn("1 message for ghost, sent 60 s ago: ghost was never on the team"),
                warn("1 message for lead, sent 60 s ago: lead is not running"),
                warn("3 messages for user, the oldest sent 60 s ago"),
            ]
        );
        assert_eq!(
            texts(&CrewPresence::Runs(None))[..3],
            [
                ok(
                    "2 messages for bob, the oldest sent 60 s ago: the running crew will deliver them"
                ),
                warn("1 message for ghost, sent 60 s ago: ghost was never on the team"),
                ok("1 message for lead, sent 60 s ago: the running crew will deliver it"),
            ]
        );
        assert_eq!(
            evaluate(&[], &team, &CrewPresence::None, Timestamp(1.0)).len(),
            1
        );
    }
}
