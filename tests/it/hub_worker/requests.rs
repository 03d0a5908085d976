//! Requests of teammates on workers, which are decided on the host of the lead or by the user.

use crewdeck::domain::ids::Name;
use crewdeck::domain::request::{Decision, Request, RequestKind, RequestStatus, Verdict};
use crewdeck::domain::timestamp::Timestamp;
use pretty_assertions::assert_eq;

use super::WORKING_LEAD;
use crate::common::hub_project::{HubProcess, HubProject, is_finished};
use crate::common::wait::wait_for;

/// Rules of a teammate with a command that needs permission, because its text is known only at run time. It completes its
/// task whether or not the command has run.
const ASKS: &str = r#"
  - when: '<auto-claimed>Task #1: '
    calls:
      - { tool: bash, input: { command: "eval 'echo allowed > allowed.txt'" } }
  - calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
  - times: 0
    say: I go on.
"#;

/// Rules of a lead that approves what it is asked.
const APPROVES: &str = r#"
  - when: '"request_id": "([^"]+)"'
    times: 0
    calls: [{ tool: decide_request, input: { request_id: "{{1}}", approve: true, comment: fine } }]
  - times: 0
    say: I wait.
"#;

/// Returns a project with one task and a worker.
fn project_with_worker() -> (HubProject, HubProcess) {
    let project = HubProject::new(&["alpha"]);
    project.add_task(&["First"]);
    let worker = project.start_worker("alpha", ASKS, &[]);
    (project, worker)
}

/// Waits until the permission request of the teammate has this status, and returns it.
fn wait_for_request(project: &HubProject, status: RequestStatus) -> Request {
    wait_for("no request with the status", || {
        let all = project.stores.requests.read_all().unwrap().requests;
        let mut own = all.into_iter().filter(|request| {
            request.kind == RequestKind::Permission && request.from.as_str() == "alpha-1"
        });
        own.find(|request| request.status == status)
    })
}

fn has_run(project: &HubProject) -> bool {
    project.worktree("alpha", 1).join("allowed.txt").exists()
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn lead_decides_the_request_of_a_worker() {
    let (project, _worker) = project_with_worker();
    wait_for_request(&project, RequestStatus::Pending);
    assert!(!has_run(&project));
    let mut lead = project.start_lead("Wait.", APPROVES, &["--tool", "lead"]);
    let decided = wait_for_request(&project, RequestStatus::Approved);
    assert_eq!(
        (decided.decided_by.as_str(), decided.comment.as_str()),
        ("lead", "fine")
    );
    project.wait_until_completed(1);
    assert!(has_run(&project));
    assert_eq!(lead.wait(), 0, "{}", lead.log());

    let events = lead.events().into_iter();
    let shown = events.filter(|event| event["type"] == "request_changed");
    let statuses: Vec<String> = shown
        .map(|event| event["request"]["status"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(statuses, ["pending", "approved"]);
    // The lead's host shows what the worker has done.
    let events = lead.events();
    let mut of_worker = events.iter().filter(|event| event["agent"] == "alpha-1");
    assert!(of_worker.any(|event| is_finished(event, "bash", "ok")));
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn options_of_the_lead_decide_requests_of_workers() {
    for (approver, status) in [
        ("auto", RequestStatus::Approved),
        ("deny", RequestStatus::Rejected),
    ] {
        let project = HubProject::new(&["alpha"]);
        let lead = project.start_lead("Wait.", WORKING_LEAD, &["--tool", approver]);
        lead.wait_for_event("with the hosts", |event| event["type"] == "hosts_changed");
        project.add_task(&["First"]);
        let _worker = project.start_worker("alpha", ASKS, &[]);
        let request = wait_for_request(&project, status);
        assert_eq!(request.decided_by, Name::policy().as_str());
        project.wait_until_completed(1);
        assert_eq!(has_run(&project), approver == "auto", "{approver}");
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn decision_of_the_user_reaches_a_worker_without_a_lead() {
    for (verdict, status) in [
        (Verdict::Approve, RequestStatus::Approved),
        (Verdict::Reject, RequestStatus::Rejected),
    ] {
        let (project, _worker) = project_with_worker();
        let request = wait_for_request(&project, RequestStatus::Pending);
        let decision = Decision::on(&request, verdict, Name::user(), "as you like".into());
        let decided = project.stores.requests.decide(&decision, Timestamp(1.0));
        assert_eq!(decided.unwrap().status, status);
        project.wait_until_completed(1);
        assert_eq!(has_run(&project), verdict == Verdict::Approve);
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn request_of_a_worker_that_ends_is_withdrawn() {
    let (project, mut worker) = project_with_worker();
    wait_for_request(&project, RequestStatus::Pending);
    worker.terminate();
    worker.wait_for_log("claims no more tasks");
    worker.terminate();
    assert_eq!(worker.wait(), 130, "{}", worker.log());
    wait_for_request(&project, RequestStatus::Withdrawn);
    assert!(!has_run(&project));
}
