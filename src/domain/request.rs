//! Requests for approval: plans, shutdowns, permissions, questions and budgets. All share one state machine.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{Name, RequestId, TaskId};
pub use super::new_request::{NewRequest, PendingCall};
pub use super::request_kind::RequestKind;
use super::timestamp::Timestamp;

/// The state of a request. A pending request changes its state at most once; all other states are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    #[default]
    Pending,
    Approved,
    Rejected,
    /// The request was withdrawn, because the asker has ended or no longer needs a decision.
    Withdrawn,
}

impl fmt::Display for RequestStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RequestStatus::Pending => "pending",
            RequestStatus::Approved => "approved",
            RequestStatus::Rejected => "rejected",
            RequestStatus::Withdrawn => "withdrawn",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approve,
    Reject,
}

/// Who decides requests of one kind, as configured in the settings. For budgets, the settings allow only `Ask` and
/// `Deny`. Questions are not configured: they have `Ask` if a user is present, otherwise `Deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// The user decides, in the pane "Needs you".
    #[default]
    Ask,
    /// The lead decides, except on requests that the lead itself has filed: the user decides these, and without a user
    /// they are rejected.
    Lead,
    /// Every request is approved automatically.
    Auto,
    /// Every request is rejected automatically.
    Deny,
}

/// Whether a decision has been carried out: the asker has received the decision, and after an approved shutdown the
/// teammate has shut down or refused to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// The request is pending or withdrawn, or its decision has not been carried out completely.
    #[default]
    NotYet,
    /// The asker has received the decision. If the decision approved a shutdown, the teammate has also shut down, or
    /// has answered that it does not.
    Done,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A request, stored as `.team/requests/ID.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The id, which is also the name of the file.
    pub id: RequestId,
    pub kind: RequestKind,
    pub from: Name,
    /// The agent that the request is about: the author of the plan, the teammate to shut down, or the agent whose
    /// tool call or model call waits.
    pub target: Name,
    /// The text that the approver reads: the plan, the reason, the command, the diff or the question.
    pub body: String,
    #[serde(default)]
    pub status: RequestStatus,
    /// Who decided or withdrew the request; empty while the request is pending.
    #[serde(default)]
    pub decided_by: String,
    /// The comment of the approver, the answer to a question, or the reason of a withdrawal.
    #[serde(default)]
    pub comment: String,
    /// The task that the target had claimed and not completed when the request was filed; `None` if there was none.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The choices for the answer to a question. The user may also answer with another text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The asker's working directory, relative to the project root; empty for the root itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workdir: String,
    /// The tool call that a permission request is about. `None` for other requests, and for a call that is too long to
    /// be stored whole or contains a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<PendingCall>,
    /// The approver according to the settings at the time of the request. The user may decide any request, whatever the
    /// settings say.
    #[serde(rename = "decider", default, skip_serializing_if = "is_default")]
    pub approver: Approver,
    #[serde(default)]
    pub created_at: Timestamp,
    /// When the request was decided or withdrawn; zero while it is pending.
    #[serde(default)]
    pub decided_at: Timestamp,
    #[serde(default, skip_serializing_if = "is_default")]
    pub followed: FollowUp,
    /// Fields written by other programs, which crewdeck preserves.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A decision on a request. It is accepted only if its id, kind and target match the request (guarantee 7 in
/// docs/GUARANTEES.md).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub id: RequestId,
    /// The kind of the request that the approver decided on. Must match the request.
    pub kind: RequestKind,
    /// The target of the request that the approver decided on. Must match the request.
    pub target: Name,
    pub verdict: Verdict,
    /// The approver: `user`, `lead`, or `policy` if the settings decide.
    pub by: Name,
    pub comment: String,
}

impl Decision {
    /// Returns a decision whose kind and target match `request`.
    pub fn on(request: &Request, verdict: Verdict, by: Name, comment: String) -> Decision {
        Decision {
            id: request.id.clone(),
            kind: request.kind,
            target: request.target.clone(),
            verdict,
            by,
            comment,
        }
    }
}

/// Why a decision is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The request was already decided or withdrawn.
    #[error("request {id} was already {status} by {by}: nothing changed")]
    Decided {
        id: RequestId,
        status: RequestStatus,
        /// Who decided or withdrew the request.
        by: String,
    },
    /// The decision names another kind or target than the request.
    #[error(
        "the decision does not match request {id}, a {kind} request about {target}: nothing changed"
    )]
    Mismatch {
        id: RequestId,
        kind: RequestKind,
        target: Name,
    },
    /// The agent that the request is about tried to decide the request. The user, another agent or the settings must
    /// decide.
    #[error(
        "{by} cannot decide request {id}, because it is about {by}: the user or another agent must decide"
    )]
    OwnRequest {
        id: RequestId,
        /// The agent that tried to decide.
        by: Name,
    },
}

impl Request {
    /// Returns the status as a word for the user: a question is `answered` instead of `approved`.
    pub fn status_word(&self) -> String {
        match (self.kind, self.status) {
            (RequestKind::Question, RequestStatus::Approved) => "answered".into(),
            (_, status) => status.to_string(),
        }
    }

    /// Returns the number, counted from 1, of the choice that the text `words` names. The text must be only the number
    /// of a choice, but may have blanks around it. Otherwise returns `None`, because a text such as `3 replicas` is the
    /// user's own answer.
    pub fn choice_number(&self, words: &str) -> Option<usize> {
        let words = words.trim();
        (1..=self.choices.len()).find(|number| number.to_string() == words)
    }

    /// Returns the answer that the text `words` stands for: if the text is the number of a choice, this choice,
    /// otherwise the text itself.
    pub fn resolve_answer(&self, words: &str) -> String {
        let number = self.choice_number(words);
        let choice = number.and_then(|number| self.choices.get(number - 1));
        choice.map_or_else(|| words.to_string(), Clone::clone)
    }

    /// Returns a pending request without task, choices, working directory or tool call. The user is the approver.
    pub fn new(
        id: RequestId,
        kind: RequestKind,
        from: Name,
        target: Name,
        body: String,
        at: Timestamp,
    ) -> Request {
        Request {
            id,
            kind,
            from,
            target,
            body,
            status: RequestStatus::Pending,
            decided_by: String::new(),
            comment: String::new(),
            task: None,
            choices: Vec::new(),
            workdir: String::new(),
            call: None,
            approver: Approver::Ask,
            created_at: at,
            decided_at: Timestamp(0.0),
            followed: FollowUp::NotYet,
            extra: Map::new(),
        }
    }

    pub fn is_pending(&self) -> bool {
        self.status == RequestStatus::Pending
    }

    /// Returns a description of the request for use in sentences, such as "the plan of bob on task #3".
    pub fn describe(&self) -> String {
        let (from, target) = (&self.from, &self.target);
        let what = match self.kind {
            RequestKind::Plan => format!("the plan of {from}"),
            RequestKind::Shutdown => format!("the shutdown of {target}"),
            RequestKind::Permission => format!("a permission for {target}"),
            RequestKind::Budget => format!("the budget of {target}"),
            RequestKind::Question => format!("a question from {from}"),
        };
        match self.task {
            Some(id) => format!("{what} on task {id}"),
            None => what,
        }
    }

    /// Returns whether the request was approved or rejected, but the decision has not been carried out completely.
    pub fn has_open_follow_up(&self) -> bool {
        let decided = [RequestStatus::Approved, RequestStatus::Rejected];
        decided.contains(&self.status) && self.followed == FollowUp::NotYet
    }

    /// Returns whether both requests ask for permission for the same tool call, so that one decision can answer both.
    pub fn is_like(&self, other: &Request) -> bool {
        self.kind == RequestKind::Permission
            && other.kind == RequestKind::Permission
            && matches!((&self.call, &other.call), (Some(a), Some(b)) if a.has_same_call(b))
    }

    /// Approves or rejects the request. Does not compare `decision.id`: the caller has found the request by this id.
    ///
    /// # Errors
    /// Fails if the request is not pending, if the kind or target of the decision does not match, or if the target
    /// itself made the decision. The request is then unchanged.
    pub fn decide(&mut self, decision: &Decision, at: Timestamp) -> Result<(), RequestError> {
        if self.kind != decision.kind || !self.target.same(&decision.target) {
            return Err(RequestError::Mismatch {
                id: self.id.clone(),
                kind: self.kind,
                target: self.target.clone(),
            });
        }
        if decision.by.same(&self.target) {
            return Err(RequestError::OwnRequest {
                id: self.id.clone(),
                by: decision.by.clone(),
            });
        }
        self.close(
            match decision.verdict {
                Verdict::Approve => RequestStatus::Approved,
                Verdict::Reject => RequestStatus::Rejected,
            },
            decision.by.as_str(),
            &decision.comment,
            at,
        )
    }

    /// Withdraws a pending request on behalf of its asker. `why` becomes the comment.
    ///
    /// # Errors
    /// Fails if the request is not pending. The request is then unchanged.
    pub fn withdraw(&mut self, why: &str, at: Timestamp) -> Result<(), RequestError> {
        let by = self.from.to_string();
        self.close(RequestStatus::Withdrawn, &by, why, at)
    }

    fn close(
        &mut self,
        status: RequestStatus,
        by: &str,
        comment: &str,
        at: Timestamp,
    ) -> Result<(), RequestError> {
        if !self.is_pending() {
            return Err(RequestError::Decided {
                id: self.id.clone(),
                status: self.status,
                by: self.decided_by.clone(),
            });
        }
        self.status = status;
        self.decided_by = by.into();
        self.comment = comment.into();
        self.decided_at = at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Request {
        let bob = Name::member("bob").unwrap();
        let id = RequestId("r1".into());
        Request::new(
            id,
            RequestKind::Plan,
            bob.clone(),
            bob,
            "do it".into(),
            Timestamp(1.0),
        )
    }

    fn yes(by: Name) -> Decision {
        Decision {
            id: RequestId("r1".into()),
            kind: RequestKind::Plan,
            target: Name::member("bob").unwrap(),
            verdict: Verdict::Approve,
            by,
            comment: "good".into(),
        }
    }

    #[test]
    fn request_is_decided_only_once() {
        let mut request = plan();
        request.decide(&yes(Name::user()), Timestamp(2.0)).unwrap();
        assert_eq!(
            (request.status, request.decided_by.as_str()),
            (RequestStatus::Approved, "user")
        );
        let mut no = yes(Name::lead());
        no.verdict = Verdict::Reject;
        let again = request.decide(&no, Timestamp(3.0)).unwrap_err();
        assert!(matches!(again, RequestError::Decided { .. }));
        assert!(request.withdraw("late", Timestamp(4.0)).is_err());
        assert_eq!(request.decided_at, Timestamp(2.0));
    }

    #[test]
    fn mismatched_or_own_decision_is_rejected() {
        let mut request = plan();
        let mut wrong = yes(Name::user());
        wrong.kind = RequestKind::Shutdown;
        assert!(matches!(
            request.decide(&wrong, Timestamp(2.0)),
            Err(RequestError::Mismatch { .. })
        ));
        let mut other = yes(Name::user());
        other.target = Name::member("alice").unwrap();
        assert!(matches!(
            request.decide(&other, Timestamp(2.0)),
            Err(RequestError::Mismatch { .. })
        ));
        let own = yes(Name::member("BOB").unwrap());
        assert!(matches!(
            request.decide(&own, Timestamp(2.0)),
            Err(RequestError::OwnRequest { .. })
        ));
        assert!(request.is_pending());
    }

    #[test]
    fn new_optional_fields_are_read_and_written_only_if_set() {
        let text = r#"{"id":"r1","kind":"question","from":"bob","target":"bob","body":"?"}"#;
        let request: Request = serde_json::from_str(text).unwrap();
        assert_eq!(
            (
                request.approver,
                request.choices.len(),
                request.is_pending()
            ),
            (Approver::Ask, 0, true)
        );
        let written = serde_json::to_value(&request).unwrap();
        for field in ["choices", "workdir", "call", "decider"] {
            assert!(written.get(field).is_none(), "{field}");
        }
    }

    #[test]
    fn only_the_whole_number_of_a_choice_is_that_choice() {
        let mut request = Request::new(
            RequestId("q1".into()),
            RequestKind::Question,
            Name::lead(),
            Name::lead(),
            "Which?".into(),
            Timestamp(1.0),
        );
        request.choices = vec!["red".into(), "green".into()];
        for (words, expected) in [
            ("2", "green"),
            (" 2 ", "green"),
            ("green", "green"),
            ("2 greens", "2 greens"),
            ("2pm", "2pm"),
            ("02", "02"),
            ("+2", "+2"),
            ("0", "0"),
            ("3", "3"),
        ] {
            assert_eq!(request.resolve_answer(words), expected, "{words}");
        }
    }
}
