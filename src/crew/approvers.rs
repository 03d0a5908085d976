//! Determines who approves a request.

use crate::domain::mail::MailKind;
use crate::domain::request::{Approver, Request, RequestKind, Verdict};

/// Which approver decides which kind of request, according to the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approvers {
    pub plan: Approver,
    pub shutdown: Approver,
    /// Approves tool calls that need permission under the policy.
    pub tool: Approver,
    /// Decides whether a budget is raised. Only `Ask` or `Deny`, since only the user may raise a budget.
    pub budget: Approver,
    /// Answers the questions that agents ask the user: `Ask` if a user is present, otherwise `Deny`.
    pub question: Approver,
}

impl Approvers {
    pub fn of(self, kind: RequestKind) -> Approver {
        match kind {
            RequestKind::Plan => self.plan,
            RequestKind::Shutdown => self.shutdown,
            RequestKind::Permission => self.tool,
            RequestKind::Budget => self.budget,
            RequestKind::Question => self.question,
        }
    }

    /// Returns the approver of `request`. If the settings name the lead as approver and the lead itself filed the
    /// request, returns `Ask` if a user is present, otherwise `Deny`.
    pub fn of_request(self, request: &Request) -> Approver {
        match self.of(request.kind) {
            Approver::Lead if request.from.is_lead() => self.question,
            approver => approver,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    User,
    /// The lead decides the request, which is sent to it as a message of this kind.
    Lead(MailKind),
    /// The settings decide the request immediately, with this verdict and comment.
    Decided(Verdict, &'static str),
}

pub fn route(request: &Request) -> Route {
    match request.approver {
        Approver::Ask => Route::User,
        Approver::Lead => Route::Lead(match request.kind {
            RequestKind::Plan => MailKind::PlanRequest,
            RequestKind::Shutdown => MailKind::ShutdownRequest,
            RequestKind::Permission | RequestKind::Budget => MailKind::PermissionRequest,
            // Never used for a question, which the lead cannot decide. No message kind exists for questions.
            RequestKind::Question => MailKind::Message,
        }),
        Approver::Auto | Approver::Deny if request.kind == RequestKind::Question => {
            Route::Decided(Verdict::Reject, "no user is present")
        }
        Approver::Auto => Route::Decided(
            Verdict::Approve,
            "the settings approve every request of this kind",
        ),
        Approver::Deny => Route::Decided(
            Verdict::Reject,
            "the settings deny every request of this kind",
        ),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::{Name, RequestId};
    use crate::domain::timestamp::Timestamp;

    fn request(from: &Name, kind: RequestKind, approver: Approver) -> Request {
        let (id, to) = (RequestId("r".into()), from.clone());
        let request = Request::new(id, kind, from.clone(), to, "x".into(), Timestamp(1.0));
        Request {
            approver,
            ..request
        }
    }

    #[test]
    fn the_lead_does_not_decide_its_own_requests() {
        let approvers = Approvers {
            plan: Approver::Lead,
            shutdown: Approver::Lead,
            tool: Approver::Lead,
            budget: Approver::Ask,
            question: Approver::Ask,
        };
        let bob = Name::member("bob").unwrap();
        let of = |from: &Name| {
            approvers.of_request(&request(from, RequestKind::Permission, Approver::Ask))
        };
        assert_eq!(of(&bob), Approver::Lead);
        assert_eq!(of(&Name::lead()), Approver::Ask);
    }

    #[test]
    fn questions_are_rejected_when_no_user_is_present() {
        let bob = Name::member("bob").unwrap();
        let routed = |kind, approver| route(&request(&bob, kind, approver));
        let rejected = Route::Decided(Verdict::Reject, "no user is present");
        for approver in [Approver::Auto, Approver::Deny] {
            assert_eq!(routed(RequestKind::Question, approver), rejected);
        }
        let approved = routed(RequestKind::Plan, Approver::Auto);
        assert!(matches!(approved, Route::Decided(Verdict::Approve, _)));
        let asked = routed(RequestKind::Plan, Approver::Lead);
        assert_eq!(asked, Route::Lead(MailKind::PlanRequest));
        assert_eq!(routed(RequestKind::Plan, Approver::Ask), Route::User);
    }
}
