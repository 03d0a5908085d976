//! Who approves each kind of request.

use crate::domain::request::{Decider, RequestKind};

/// The approver of each kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deciders {
    /// Decides plan approvals.
    pub plan: Decider,
    /// Decides shutdowns.
    pub shutdown: Decider,
    /// Decides tool calls for which the policy requires permission.
    pub tool: Decider,
    /// Decides whether a budget is raised: the user or no one (`Deny`), since no agent may raise its own budget.
    pub ceiling: Decider,
    /// Answers questions to the user: `Ask` if a user is present, else `Deny`.
    pub question: Decider,
}

impl Deciders {
    /// Returns the approver of requests of `kind`.
    pub fn of(self, kind: RequestKind) -> Decider {
        match kind {
            RequestKind::Plan => self.plan,
            RequestKind::Shutdown => self.shutdown,
            RequestKind::Permission => self.tool,
            RequestKind::Ceiling => self.ceiling,
            RequestKind::Question => self.question,
        }
    }
}
