//! Requests that wait although whoever asked is gone.

use crate::doctor::words::ago;
use crate::doctor::{Finding, Mend, Place};
use crate::domain::aftermath::{self, Lead};
use crate::domain::request::Request;
use crate::domain::stamp::Stamp;
use crate::domain::text::{clip, one_line};
use crate::store::Requests;

const CHECK: &str = "requests";
/// Most characters of what was asked.
const BODY_MAX: usize = 60;

/// Looks at the requests.
pub fn look(place: &Place) -> Vec<Finding> {
    if let Some(said) = super::left_to_others(CHECK, place) {
        return said;
    }
    match Requests::open(&place.root).read_all() {
        Ok(read) => judge(&read.requests, place.now),
        Err(error) => vec![super::unreadable(CHECK, &error)],
    }
}

fn judge(requests: &[Request], now: Stamp) -> Vec<Finding> {
    let found: Vec<Finding> = aftermath::orphaned(requests, &[], Lead::Gone)
        .into_iter()
        .map(|request| {
            let Request { kind, from, .. } = request;
            let what = clip(&one_line(&request.body), BODY_MAX);
            let when = ago(now, request.created_at).unwrap_or("some time ago".into());
            Finding::warn(
                CHECK,
                format!("{from} asked {when} ({kind}: {what}) and is gone"),
                "crewdeck --resume lets you decide it; crewdeck doctor --mend withdraws it",
            )
            .mended_by(Mend::Withdraw {
                request: request.id.clone(),
            })
        })
        .collect();
    if found.is_empty() {
        return vec![Finding::ok(CHECK, "none waits")];
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
    fn what_waits_for_nobody_is_told() {
        let bob = Name::member("bob").unwrap();
        let id = RequestId("r1".into());
        let mut request = Request::new(
            id.clone(),
            RequestKind::Plan,
            bob.clone(),
            bob,
            "First\nthen".into(),
            Stamp(1.0),
        );
        let found = judge(std::slice::from_ref(&request), Stamp(61.0));
        assert_eq!(
            found[0].text,
            "bob asked 60 s ago (plan: First⏎then) and is gone"
        );
        assert_eq!(found[0].mend, Some(Mend::Withdraw { request: id }));
        request.withdraw("x", Stamp(2.0)).unwrap();
        assert_eq!(
            judge(&[request], Stamp(3.0)),
            [Finding::ok(CHECK, "none waits")]
        );
    }
}
