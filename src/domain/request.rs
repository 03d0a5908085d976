//! Requests that somebody must decide: plans, shutdowns, permissions, questions, ceilings. One state machine for
//! all.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use super::asking::{AskedCall, Asking};
use super::ids::{Name, RequestId, TaskId};
use super::stamp::Stamp;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A teammate wants to carry out a plan.
    Plan,
    /// A teammate shall shut down.
    Shutdown,
    /// A tool call that the policy asks about.
    Permission,
    /// An agent has used as many tokens, or as much money, as it or its team may.
    Ceiling,
    /// A question to the person; the answer is the comment of the decision.
    Question,
}

impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RequestKind::Plan => "plan",
            RequestKind::Shutdown => "shutdown",
            RequestKind::Permission => "permission",
            RequestKind::Ceiling => "ceiling",
            RequestKind::Question => "question",
        })
    }
}

/// Where a request stands. Only `Pending` can change, and only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Nobody has decided yet.
    #[default]
    Pending,
    /// Granted.
    Approved,
    /// Refused.
    Rejected,
    /// The asker is gone or asks no more.
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

/// A yes or a no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Approve,
    /// No.
    Reject,
}

/// Who decides a kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The person, in Needs you.
    #[default]
    Ask,
    /// The lead agent; its own requests still go to the person.
    Lead,
    /// Nobody: every request is approved.
    Auto,
    /// Nobody: every request is rejected.
    Deny,
}

/// Whether a decision was followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Followed {
    /// Something is left to do, or nobody has decided.
    #[default]
    NotYet,
    /// Whoever waits has heard of it, and a shutdown was carried out.
    Done,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One request, as `.team/requests/ID.json` holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Its id; the file's name.
    pub id: RequestId,
    /// What is asked for.
    pub kind: RequestKind,
    /// Who asks.
    pub from: Name,
    /// Whom it is about: the planner itself, the teammate to shut down, the agent whose tool or call waits.
    pub target: Name,
    /// Everything needed to decide: the plan, the reason, the command or diff.
    pub body: String,
    /// Where it stands.
    #[serde(default)]
    pub status: RequestStatus,
    /// Who decided; empty while nobody has.
    #[serde(default)]
    pub decided_by: String,
    /// What the decider said to it.
    #[serde(default)]
    pub comment: String,
    /// The task that it belongs to, if any.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// What a question may be answered with; empty: words of one's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Where the asker works, below the root; empty: the root itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workdir: String,
    /// The tool call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<AskedCall>,
    /// Who was to decide it when it was asked. The person may decide in any case.
    #[serde(default, skip_serializing_if = "is_default")]
    pub decider: Decider,
    /// When it was asked.
    #[serde(default)]
    pub created_at: Stamp,
    /// When it was decided; zero: not yet.
    #[serde(default)]
    pub decided_at: Stamp,
    /// Whether all that follows from the decision was done.
    #[serde(default, skip_serializing_if = "is_default")]
    pub followed: Followed,
    /// Fields of other programs.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A decision, matched on id, kind and target before it counts (promise 7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Which request.
    pub id: RequestId,
    /// Of which kind the decider believes it to be.
    pub kind: RequestKind,
    /// About whom the decider believes it to be.
    pub target: Name,
    /// Yes or no.
    pub verdict: Verdict,
    /// Who decides: `user`, `lead`, or `policy` for a standing rule.
    pub by: Name,
    /// What the decider says to it; reaches the asker.
    pub comment: String,
}

impl Decision {
    /// What `by` says to a request that it sees as it is.
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

/// Why a decision does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Decided already; by whom and how.
    #[error("request {id} was already {status} by {by}: nothing changed")]
    Decided {
        /// The request.
        id: RequestId,
        /// How it was decided.
        status: RequestStatus,
        /// By whom.
        by: String,
    },
    /// The decision names another kind or target.
    #[error(
        "request {id} is a {kind} request about {target}: the decision names another, nothing changed"
    )]
    Mismatch {
        /// The request.
        id: RequestId,
        /// Its real kind.
        kind: RequestKind,
        /// Its real target.
        target: Name,
    },
    /// The one who asks, or whom it is about, can not decide it.
    #[error("{by} can not decide request {id}: it is about {by}")]
    OwnRequest {
        /// The request.
        id: RequestId,
        /// Who tried.
        by: Name,
    },
}

impl Request {
    /// A new, pending request.
    pub fn new(
        id: RequestId,
        kind: RequestKind,
        from: Name,
        target: Name,
        body: String,
        at: Stamp,
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
            decider: Decider::Ask,
            created_at: at,
            decided_at: Stamp(0.0),
            followed: Followed::NotYet,
            extra: Map::new(),
        }
    }

    /// Whether nobody has decided yet.
    pub fn is_pending(&self) -> bool {
        self.status == RequestStatus::Pending
    }

    /// What waits for a decision, in words.
    pub fn shown(&self) -> String {
        let (from, target) = (&self.from, &self.target);
        let what = match self.kind {
            RequestKind::Plan => format!("the plan of {from}"),
            RequestKind::Shutdown => format!("the shutdown of {target}"),
            RequestKind::Permission => format!("a permission for {target}"),
            RequestKind::Ceiling => format!("the ceiling of {target}"),
            RequestKind::Question => format!("a question of {from}"),
        };
        match self.task {
            Some(id) => format!("{what} on task {id}"),
            None => what,
        }
    }

    /// Whether it was decided and something that follows from it is not done yet.
    pub fn is_unfinished(&self) -> bool {
        let decided = [RequestStatus::Approved, RequestStatus::Rejected];
        decided.contains(&self.status) && self.followed == Followed::NotYet
    }

    /// Whether one answer answers both: two permissions for the same call.
    pub fn is_like(&self, other: &Request) -> bool {
        self.kind == RequestKind::Permission
            && other.kind == RequestKind::Permission
            && matches!((&self.call, &other.call), (Some(a), Some(b)) if a.is_like(b))
    }

    /// Decides the request, once.
    pub fn decide(&mut self, decision: &Decision, at: Stamp) -> Result<(), RequestError> {
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

    /// Takes the request back: its asker is gone or was interrupted.
    pub fn withdraw(&mut self, why: &str, at: Stamp) -> Result<(), RequestError> {
        let by = self.from.to_string();
        self.close(RequestStatus::Withdrawn, &by, why, at)
    }

    fn close(
        &mut self,
        status: RequestStatus,
        by: &str,
        comment: &str,
        at: Stamp,
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
            Stamp(1.0),
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
    fn it_is_decided_once_by_someone_named() {
        let mut request = plan();
        request.decide(&yes(Name::user()), Stamp(2.0)).unwrap();
        assert_eq!(
            (request.status, request.decided_by.as_str()),
            (RequestStatus::Approved, "user")
        );
        let mut no = yes(Name::lead());
        no.verdict = Verdict::Reject;
        let again = request.decide(&no, Stamp(3.0)).unwrap_err();
        assert!(matches!(again, RequestError::Decided { .. }));
        assert!(request.withdraw("late", Stamp(4.0)).is_err());
        assert_eq!(request.decided_at, Stamp(2.0));
    }

    #[test]
    fn another_kind_or_target_or_oneself_does_not_count() {
        let mut request = plan();
        let mut wrong = yes(Name::user());
        wrong.kind = RequestKind::Shutdown;
        assert!(matches!(
            request.decide(&wrong, Stamp(2.0)),
            Err(RequestError::Mismatch { .. })
        ));
        let mut other = yes(Name::user());
        other.target = Name::member("alice").unwrap();
        assert!(matches!(
            request.decide(&other, Stamp(2.0)),
            Err(RequestError::Mismatch { .. })
        ));
        let own = yes(Name::member("BOB").unwrap());
        assert!(matches!(
            request.decide(&own, Stamp(2.0)),
            Err(RequestError::OwnRequest { .. })
        ));
        assert!(request.is_pending());
    }

    #[test]
    fn files_without_the_newer_fields_are_read_and_stay_as_short() {
        let text = r#"{"id":"r1","kind":"question","from":"bob","target":"bob","body":"?"}"#;
        let request: Request = serde_json::from_str(text).unwrap();
        assert_eq!(
            (request.decider, request.choices.len(), request.is_pending()),
            (Decider::Ask, 0, true)
        );
        let written = serde_json::to_value(&request).unwrap();
        for field in ["choices", "workdir", "call", "decider"] {
            assert!(written.get(field).is_none(), "{field}");
        }
    }
}
