//! The question to the user about a task whose checks are red.

use crate::checks::CheckRound;
use crate::domain::checks::red_rounds;
use crate::domain::ids::{Name, TaskId};
use crate::domain::request::{NewRequest, Request, RequestKind, RequestStatus};
use crate::domain::task::Task;
use crate::domain::text::{clip, one_line};

/// Maximum length of the list of failed checks in a question to the user, in characters.
const QUESTION_MAX: usize = 6000;
/// The choice that lets the owner of a task try again.
const TRY_AGAIN: &str = "Try again";
/// The choice that completes a task although its checks are red. crewdeck then asks for the reason.
const OVERRIDE: &str = "Complete it anyway";
/// The choice of the user, who wants to complete a task, that leaves it open.
const LEAVE_OPEN: &str = "Leave it open";

/// What the user has decided about a task whose checks are red.
#[derive(Debug, PartialEq, Eq)]
pub enum RedDecision {
    /// The owner tries again, with this advice, which may be empty.
    Again(String),
    /// The task is completed for a reason that the user still has to give.
    Override,
    /// There is no decision, for this reason.
    Open(String),
}

/// Returns in whose name the user is asked about a task of `owner`: the user cannot ask the user.
pub fn asker(owner: &Name) -> Name {
    if owner.is_user() {
        Name::lead()
    } else {
        owner.clone()
    }
}

pub fn question(owner: &Name, task: &Task, round: &CheckRound, failed: &str) -> NewRequest {
    let subject = one_line(&clip(&task.subject, 200));
    let id = task.id;
    let reds = red_rounds(&round.records);
    let (fact, again, rest) = if owner.is_user() {
        (
            format!("You want to complete task {id} ({subject}), but its checks are red."),
            LEAVE_OPEN,
            "Any other answer leaves the task open too.".to_string(),
        )
    } else {
        (
            format!(
                "{owner} wants to complete task {id} ({subject}), but its checks are red, {reds} times in a row."
            ),
            TRY_AGAIN,
            format!("Any other answer goes to {owner} as advice, and {owner} tries again."),
        )
    };
    let failed = clip(failed, QUESTION_MAX);
    NewRequest {
        choices: vec![again.into(), OVERRIDE.into()],
        ..NewRequest::new(
            RequestKind::Question,
            &asker(owner),
            format!("{fact} {rest}\n\n{failed}"),
        )
    }
}

pub fn read_decision(request: &Request) -> RedDecision {
    let answer = request.comment.trim();
    if request.status != RequestStatus::Approved {
        let who = match request.decided_by.as_str() {
            by if by == Name::policy().as_str() => "no user is present to decide",
            _ => "the user has not decided",
        };
        return RedDecision::Open(format!(
            "the task is not completed: its checks are red, and {who}. Say what is wrong, and leave the task as it is"
        ));
    }
    if answer.eq_ignore_ascii_case(OVERRIDE) {
        RedDecision::Override
    } else if answer.eq_ignore_ascii_case(TRY_AGAIN) || answer.eq_ignore_ascii_case(LEAVE_OPEN) {
        RedDecision::Again(String::new())
    } else {
        RedDecision::Again(answer.into())
    }
}

pub fn again_text(id: TaskId, advice: &str) -> String {
    let text = format!(
        "task {id} is not completed: its checks are red. The user wants you to try again; the checks then run again"
    );
    if advice.is_empty() {
        text
    } else {
        format!("{text}. The user says: {advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::RequestId;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_the_named_choice_overrides() {
        let (approved, rejected) = (RequestStatus::Approved, RequestStatus::Rejected);
        for (status, comment, expected) in [
            (approved, "Try again", RedDecision::Again(String::new())),
            (approved, "leave it open", RedDecision::Again(String::new())),
            (approved, " complete it anyway ", RedDecision::Override),
            (approved, "", RedDecision::Again(String::new())),
            (approved, "use make", RedDecision::Again("use make".into())),
        ] {
            let (id, lead) = (RequestId("r".into()), Name::lead());
            let kind = RequestKind::Question;
            let request = Request {
                status,
                decided_by: "user".into(),
                comment: comment.into(),
                ..Request::new(id, kind, lead.clone(), lead, "x".into(), Timestamp(1.0))
            };
            assert_eq!(read_decision(&request), expected, "{comment}");
            let refused = Request {
                status: rejected,
                ..request
            };
            assert!(matches!(read_decision(&refused), RedDecision::Open(_)));
        }
    }
}
