//! Finds team members that are listed as present although their crew is not running.

use crate::doctor::units::ago;
use crate::doctor::{DoctorContext, Finding, Fix};
use crate::domain::crash_recovery;
use crate::domain::team::{MemberStatus, Team};
use crate::domain::timestamp::Timestamp;
use crate::store::Roster;

const CHECK: &str = "team";

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    if let Some(findings) = super::skip_check(CHECK, context) {
        return findings;
    }
    match Roster::open(&context.root).read() {
        Ok(team) => evaluate(&team, context.now),
        Err(error) => vec![super::unreadable(CHECK, &error)],
    }
}

fn evaluate(team: &Team, now: Timestamp) -> Vec<Finding> {
    let mut found: Vec<Finding> = crash_recovery::absent_members(team, &[])
        .into_iter()
        .map(|member| {
            let seen =
                ago(now, member.seen_at).map_or(String::new(), |ago| format!(", last seen {ago}"));
            let name = &member.name;
            Finding::warn(
                CHECK,
                format!(
                    "{name} is listed as {}{seen}, but its crew is not running",
                    member.status
                ),
                "resume the crew: crewdeck --resume; or mark the teammate as shut down: crewdeck doctor --mend",
            )
            .with_fix(Fix::Leave {
                member: name.clone(),
            })
        })
        .collect();
    for member in team.present().filter(|m| m.session.is_empty()) {
        let (name, status) = (&member.name, member.status);
        found.push(Finding::ok(
            CHECK,
            format!("{name} ({status}) was added by another program, so crewdeck neither resumes it nor marks it as shut down"),
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
                0 => "no members".to_string(),
                left => format!("{left} shut down, none active"),
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
    fn gone_members_have_a_fix_and_foreign_ones_do_not() {
        let member = |name: &str, status, session: &str| Member {
            status,
            session: session.into(),
            seen_at: Timestamp(940.0),
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
        let found = evaluate(&team, Timestamp(1000.0));
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].text,
            "bob is listed as working, last seen 60 s ago, but its crew is not running"
        );
        assert_eq!(found[0].fix, Some(Fix::Leave { member: bob }));
        assert_eq!((found[1].check, &found[1].fix), ("team", &None));
        team.members.truncate(1);
        team.members[0].status = MemberStatus::Shutdown;
        assert_eq!(
            evaluate(&team, Timestamp(1000.0)),
            [Finding::ok(CHECK, "1 shut down, none active")]
        );
        assert_eq!(
            evaluate(&Team::default(), Timestamp(1.0)),
            [Finding::ok(CHECK, "no members")]
        );
    }
}
