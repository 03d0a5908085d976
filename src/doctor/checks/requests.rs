//! Finds approval requests whose sender is gone.

use crate::doctor::units::ago;
use crate::doctor::{DoctorContext, Finding, Fix};
use crate::domain::crash_recovery::{self, LeadState};
use crate::domain::request::Request;
use crate::domain::text::{clip, one_line};
use crate::domain::timestamp::Timestamp;
use crate::store::Requests;

const CHECK: &str = "requests";
/// Maximum length of a request's text in a finding, in characters.
const BODY_MAX: usize = 60;

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    if let Some(findings) = super::skip_check(CHECK, context) {
        return findings;
    }
    match Requests::open(&context.root).read_all() {
        Ok(read) => evaluate(&read.requests, context.now),
        Err(error) => vec![super::unreadable(CHECK, &error)],
    }
}

fn evaluate(requests: &[Request], now: Timestamp) -> Vec<Finding> {
    let found: Vec<Finding> = crash_recovery::orphaned_requests(requests, &[], LeadState::Gone)
        .into_iter()
        .map(|request| {
            let Request { kind, from, .. } = request;
            let what = clip(&one_line(&request.body), BODY_MAX);
            let when = ago(now, request.created_at).unwrap_or("some time ago".into());
            Finding::warn(
                CHECK,
                format!("{from} asked {when} ({kind}: {what}), but is no longer running"),
                "decide it: crewdeck --resume; or withdraw it: crewdeck doctor --mend",
            )
            .with_fix(Fix::Withdraw {
                request: request.id.clone(),
            })
        })
        .collect();
    if found.is_empty() {
        return vec![Finding::ok(CHECK, "none pending")];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{Name, RequestId};
    use crate::domain::request::RequestKind;
    use pretty_assertions::assert_eq;

    #[test]
    fn request_of_a_gone_sender_is_a_warning() {
        let bob = Name::member("bob").unwrap();
        let id = RequestId("r1".into());
        let mut request = Request::new(
            id.clone(),
            RequestKind::Plan,
            bob.clone(),
            bob,
            "First\nthen".into(),
            Timestamp(1.0),
        );
        let found = evaluate(std::slice::from_ref(&request), Timestamp(61.0));
        assert_eq!(
            found[0].text,
            "bob asked 60 s ago (plan: First⏎then), but is no longer running"
        );
        assert_eq!(found[0].fix, Some(Fix::Withdraw { request: id }));
        request.withdraw("x", Timestamp(2.0)).unwrap();
        assert_eq!(
            evaluate(&[request], Timestamp(3.0)),
            [Finding::ok(CHECK, "none pending")]
        );
    }
}
