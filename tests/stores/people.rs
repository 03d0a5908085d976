//! Promises about requests and the roster, and about reports of changes.

use std::sync::mpsc;
use std::time::Duration;

use crewdeck::domain::ids::{MessageId, Name, RequestId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::request::{
    Decision, Request, RequestError, RequestKind, RequestStatus, Verdict,
};
use crewdeck::domain::team::{Member, MemberStatus, ModelChoice, Team, TeamError};
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::StoreError;
use crewdeck::store::watch::Dirty;
use pretty_assertions::assert_eq;

use crate::suite::{Backend, NOW, name, new, race};

/// Maximum time until a change is reported. The files are polled if the system cannot report changes.
const REPORTED_WITHIN: Duration = Duration::from_secs(40);

fn plan(id: &str) -> Request {
    let bob = name("bob");
    let (id, kind) = (RequestId(id.into()), RequestKind::Plan);
    Request::new(id, kind, bob.clone(), bob, "the plan".into(), NOW)
}

pub fn racing_approvers_decide_a_request_once(backend: &dyn Backend) {
    let requests = backend.open().requests;
    for round in 0..4 {
        let request = plan(&format!("r{round}"));
        requests.create(&request).unwrap();
        let results = race(backend, 4, |n, stores| {
            let verdict = if n % 2 == 0 {
                Verdict::Approve
            } else {
                Verdict::Reject
            };
            if n == 3 {
                return stores.requests.withdraw(&request.id, "gone", NOW);
            }
            let by = [Name::user(), Name::lead(), name("carol")][n].clone();
            let decision = Decision::on(&request, verdict, by, format!("by {n}"));
            stores.requests.decide(&decision, NOW)
        });
        let winners: Vec<&Request> = results.iter().flatten().collect();
        assert_eq!(winners.len(), 1);
        let stored = requests.get(&request.id).unwrap().unwrap();
        assert_eq!(&stored, winners[0]);
        assert!(!stored.is_pending());
        for refused in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(
                matches!(refused, StoreError::Request(RequestError::Decided { .. })),
                "{refused}"
            );
        }
    }
}

pub fn only_a_matching_approver_decides(backend: &dyn Backend) {
    let requests = backend.open().requests;
    let request = plan("r1");
    requests.create(&request).unwrap();
    let yes = |by: &Name| Decision::on(&request, Verdict::Approve, by.clone(), String::new());
    let other_kind = Decision {
        kind: RequestKind::Shutdown,
        ..yes(&Name::user())
    };
    let other_target = Decision {
        target: name("carol"),
        ..yes(&Name::user())
    };
    for wrong in [other_kind, other_target, yes(&name("BOB"))] {
        let refused = requests.decide(&wrong, NOW).unwrap_err();
        assert!(matches!(refused, StoreError::Request(_)), "{refused}");
    }
    let unknown = Decision {
        id: RequestId("r2".into()),
        ..yes(&Name::user())
    };
    let refused = requests.decide(&unknown, NOW).unwrap_err();
    assert!(matches!(refused, StoreError::NoRequest(_)), "{refused}");
    assert!(requests.get(&request.id).unwrap().unwrap().is_pending());
    let decided = requests.decide(&yes(&Name::user()), NOW).unwrap();
    assert_eq!(
        (decided.status, decided.decided_by.as_str()),
        (RequestStatus::Approved, "user")
    );
    assert!(decided.has_open_follow_up());
    let other = backend.open().requests;
    other.finish(&request.id).unwrap();
    other.finish(&request.id).unwrap();
    let stored = requests.get(&request.id).unwrap().unwrap();
    assert!(!stored.has_open_follow_up());
}

pub fn requests_are_stored_once_with_unknown_fields(backend: &dyn Backend) {
    let requests = backend.open().requests;
    let mut request = plan("r1");
    request.extra.insert("color".into(), "red".into());
    requests.create(&request).unwrap();
    let mut replacement = plan("r1");
    replacement.body = "another plan".into();
    assert!(requests.create(&replacement).is_err());
    for id in ["../r1", "", "a/b", "r1.x\0"] {
        assert!(requests.create(&plan(id)).is_err(), "{id:?}");
        assert_eq!(requests.get(&RequestId(id.into())).unwrap(), None);
    }
    let mut older = plan("r0");
    older.created_at = Timestamp(0.5);
    requests.create(&older).unwrap();
    let other = backend.open().requests;
    other.withdraw(&request.id, "not needed", NOW).unwrap();
    let all = other.read_all().unwrap();
    assert_eq!(all.notices, Vec::<String>::new());
    let ids: Vec<&str> = all.requests.iter().map(|r| r.id.0.as_str()).collect();
    assert_eq!(ids, ["r0", "r1"]);
    let stored = &all.requests[1];
    assert_eq!(stored.body, "the plan");
    assert_eq!(stored.extra["color"], "red");
    assert_eq!(
        (stored.status, stored.comment.as_str()),
        (RequestStatus::Withdrawn, "not needed")
    );
}

pub fn racing_members_all_join_up_to_the_limit(backend: &dyn Backend) {
    let joined = race(backend, 6, |n, stores| {
        let member = Member::new(name(&format!("agent-{n}")), "worker");
        stores.roster.add_member(member, 4).is_ok()
    });
    assert_eq!(joined.iter().filter(|is_in| **is_in).count(), 4);
    let team = backend.open().roster.read().unwrap();
    assert_eq!(team.members.len(), 4);
    for (n, is_in) in joined.iter().enumerate() {
        let member = team.find(&name(&format!("agent-{n}")));
        assert_eq!(member.is_some(), *is_in);
    }
}

pub fn racing_members_of_one_name_join_once(backend: &dyn Backend) {
    let roster = backend.open().roster;
    for round in 0..4 {
        let joined = race(backend, 4, |n, stores| {
            let text = if n % 2 == 0 { "bob" } else { "BOB" };
            let mut member = Member::new(name(text), "tester");
            member.model = format!("model-{n}");
            stores.roster.add_member(member, 16)
        });
        let winners: Vec<usize> = (0..4).filter(|n| joined[*n].is_ok()).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        for refused in joined.iter().filter_map(|result| result.as_ref().err()) {
            assert!(
                matches!(refused, StoreError::Team(TeamError::Busy(..))),
                "{refused}"
            );
        }
        let team = roster.read().unwrap();
        assert_eq!(team.members.len(), 1);
        assert_eq!(team.members[0].model, format!("model-{}", winners[0]));
        roster.mark_shut_down(&name("bob"), NOW).unwrap();
    }
}

pub fn racing_changes_of_members_and_team_all_count(backend: &dyn Backend) {
    const MEMBERS: usize = 4;
    let roster = backend.open().roster;
    let names: Vec<Name> = (0..MEMBERS).map(|n| name(&format!("agent-{n}"))).collect();
    for member in &names {
        let member = Member::new(member.clone(), "worker");
        roster.add_member(member, 16).unwrap();
    }
    race(backend, MEMBERS + 3, |n, stores| {
        match n.checked_sub(MEMBERS) {
            None => {
                for step in 1_u32..=10 {
                    let status = MemberStatus::Working;
                    let now = Timestamp(f64::from(step));
                    stores.roster.set_status(&names[n], status, now).unwrap();
                }
            }
            Some(0) => {
                let choice = |n: usize| ModelChoice {
                    name: format!("model-{n}"),
                    named: true,
                };
                for session in 0..10 {
                    let text = format!("s{session}");
                    let choice = Some(choice(session));
                    stores.roster.set_lead_model(&text, choice).unwrap();
                }
            }
            Some(1) => {
                for n in 0..5 {
                    let member = Member::new(name(&format!("late-{n}")), "worker");
                    stores.roster.add_member(member, 16).unwrap();
                }
            }
            // Changes all members at once.
            Some(_) => {
                for _ in 0..5 {
                    let model = ModelChoice {
                        name: "fast".into(),
                        named: true,
                    };
                    for name in &names {
                        stores.roster.set_model(name, model.clone()).unwrap();
                    }
                    stores
                        .roster
                        .update_last_alive(&names, Timestamp(50.0))
                        .unwrap();
                }
            }
        }
    });
    let team = roster.read().unwrap();
    assert_eq!(team.members.len(), MEMBERS + 5);
    assert_eq!(team.lead_models.len(), 10);
    for member in &names {
        let member = team.find(member).unwrap();
        assert_eq!(member.status, MemberStatus::Working);
        assert_eq!(member.model, "fast");
        assert!(member.seen_at.0 >= 10.0, "{member:?}");
    }
}

pub fn members_stay_in_the_order_in_which_they_joined(backend: &dyn Backend) {
    let (roster, other) = (backend.open().roster, backend.open().roster);
    let names = ["zoe", "bob", "alice", "Mia"];
    for (n, text) in names.iter().enumerate() {
        let roster = if n % 2 == 0 { &roster } else { &other };
        let member = Member::new(name(text), "worker");
        roster.add_member(member, 16).unwrap();
    }
    let order = |team: &Team| -> Vec<String> {
        let names = team.members.iter().map(|member| member.name.to_string());
        names.collect()
    };
    assert_eq!(order(&roster.read().unwrap()), names);
    other
        .set_status(&name("alice"), MemberStatus::Working, NOW)
        .unwrap();
    other.mark_shut_down(&name("bob"), NOW).unwrap();
    let member = Member::new(name("bob"), "tester");
    let team = roster.add_member(member, 16).unwrap();
    assert_eq!(order(&team), names);
    assert_eq!(team.members[1].role, "tester");
    assert_eq!(order(&backend.open().roster.read().unwrap()), names);
}

#[allow(clippy::cast_precision_loss)] // small numbers
pub fn roster_changes_are_visible_to_others_at_once(backend: &dyn Backend) {
    let (roster, other) = (backend.open().roster, backend.open().roster);
    assert!(roster.read().unwrap().members.is_empty());
    let mut bob = Member::new(name("bob"), "tester");
    bob.extra.insert("color".into(), "red".into());
    bob.first = "begin with the tests".into();
    roster.add_member(bob, 16).unwrap();
    assert!(other.add_member(Member::new(name("BOB"), "x"), 16).is_err());
    other
        .set_status(&name("bob"), MemberStatus::Working, Timestamp(7.0))
        .unwrap();
    roster.clear_first_instructions(&name("bob")).unwrap();
    let team = roster.read().unwrap();
    let bob = team.find(&name("bob")).unwrap();
    assert_eq!(bob.extra["color"], "red");
    assert_eq!(
        (bob.status, bob.seen_at, bob.first.as_str()),
        (MemberStatus::Working, Timestamp(7.0), "")
    );
    // An unknown name changes nothing.
    let unknown = name("erin");
    let same = other.set_status(&unknown, MemberStatus::Idle, NOW).unwrap();
    assert_eq!(same, team);
    race(backend, 4, |n, stores| {
        let names = [name("bob")];
        let now = Timestamp(10.0 + n as f64);
        stores.roster.update_last_alive(&names, now).unwrap();
    });
    other.mark_shut_down(&name("bob"), Timestamp(20.0)).unwrap();
    let team = roster.read().unwrap();
    assert_eq!(team.present().count(), 0);
    assert_eq!(team.members[0].seen_at, Timestamp(20.0));
    assert_eq!(roster.take_notices(), Vec::<String>::new());
}

pub fn every_kind_of_change_is_reported(backend: &dyn Backend) {
    let (sender, reports) = mpsc::channel();
    let watched = backend.open();
    let report = Box::new(move |dirty| drop(sender.send(dirty)));
    let watch = watched.changes.watch(report).unwrap();
    let other = backend.open();
    let wait_for = |what: &str, is_wanted: fn(&Dirty) -> bool| {
        let deadline = std::time::Instant::now() + REPORTED_WITHIN;
        loop {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            let dirty = reports.recv_timeout(left);
            if is_wanted(&dirty.unwrap_or_else(|_| panic!("{what} was not reported"))) {
                return;
            }
        }
    };
    other.board.create(new("a", &[]), NOW).unwrap();
    wait_for("task", |dirty| matches!(dirty, Dirty::Board(_)));
    let (id, kind) = (MessageId("m1".into()), MailKind::Message);
    let message = MailMessage::new(id, kind, &Name::lead(), &name("bob"), "hello", NOW);
    other.mailbox.send(&message).unwrap();
    wait_for("message", |dirty| *dirty == Dirty::Mail);
    other.requests.create(&plan("r1")).unwrap();
    wait_for("request", |dirty| *dirty == Dirty::Requests);
    let member = Member::new(name("bob"), "tester");
    other.roster.add_member(member, 16).unwrap();
    wait_for("member", |dirty| *dirty == Dirty::Roster);
    let model = ModelChoice {
        name: "fast".into(),
        named: true,
    };
    other.roster.set_lead_model("s1", Some(model)).unwrap();
    wait_for("model of the lead", |dirty| *dirty == Dirty::Roster);
    drop(watch);
}
