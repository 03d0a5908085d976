//! The roster: members that count as present although no crew runs.

use crate::doctor::words::ago;
use crate::doctor::{Finding, Mend, Place};
use crate::domain::aftermath;
use crate::domain::stamp::Stamp;
use crate::domain::team::{MemberStatus, Team};
use crate::store::Roster;

const CHECK: &str = "team";

/// Looks at the roster.
pub fn look(place: &Place) -> Vec<Finding> {
    if let Some(said) = super::left_to_others(CHECK, place) {
        return said;
    }
    match Roster::open(&place.root).read() {
        Ok(team) => judge(&team, place.now),
        Err(error) => vec![super::unreadable(CHECK, &error)],
    }
}

fn judge(team: &Team, now: Stamp) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        aftermath::gone(team, &[])
            .into_iter()
            .map(|member| {
                let seen = ago(now, member.seen_at)
                    .map_or(String::new(), |ago| format!(", last seen {ago}"));
                let name = &member.name;
                Finding::warn(
                CHECK,
                format!("{name} counts as {}{seen}, and its crew is gone", member.status),
                "crewdeck --resume brings it back; crewdeck doctor --mend notes that it has left",
            )
            .mended_by(Mend::Leave { member: name.clone() })
            })
            .collect();
    for member in team.present().filter(|m| m.session.is_empty()) {
        let (name, status) = (&member.name, member.status);
        found.push(Finding::ok(
            CHECK,
            format!("{name} ({status}) was entered by another program, which sees to it"),
        ));
    }
    if found.is_empty() {
        let left = team
            .members
            .iter()
            .filter(|m| m.status == MemberStatus::Shutdown);
        found.push(Finding::ok(
            CHECK,
            match left.count() {
                0 => "nobody yet".to_string(),
                left => format!("{left} in the roster, all of them have left"),
            },
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::team::Member;
    use pretty_assertions::assert_eq;

    #[test]
    fn who_is_gone_and_who_is_another_programs() {
        let member = |name: &str, status, session: &str| Member {
            status,
            session: session.into(),
            seen_at: Stamp(940.0),
            ..Member::new(Name::member(name).unwrap(), "r")
        };
        let bob = Name::member("bob").unwrap();
        let mut team = Team {
            members: vec![
                member("bob", MemberStatus::Working, "s"),
                member("eve", MemberStatus::Idle, ""),
                member("old", MemberStatus::Shutdown, "s"),
            ],
            ..Team::default()
        };
        let found = judge(&team, Stamp(1000.0));
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].text,
            "bob counts as working, last seen 60 s ago, and its crew is gone"
        );
        assert_eq!(found[0].mend, Some(Mend::Leave { member: bob }));
        assert_eq!((found[1].check, &found[1].mend), ("team", &None));
        team.members.truncate(1);
        team.members[0].status = MemberStatus::Shutdown;
        assert_eq!(
            judge(&team, Stamp(1000.0)),
            [Finding::ok(CHECK, "1 in the roster, all of them have left")]
        );
        assert_eq!(
            judge(&Team::default(), Stamp(1.0)),
            [Finding::ok(CHECK, "nobody yet")]
        );
    }
}
