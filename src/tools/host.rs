//! What tools ask of the floors above. Declared here, implemented by the crew: no circle of imports.

use futures::future::BoxFuture;

use crate::domain::ids::{CallId, Name};
use crate::domain::request::{Decision, Request, RequestKind};
use crate::domain::team::Member;
use crate::domain::todo::TodoList;

/// The crew, as a tool sees it.
pub trait Host: Send + Sync {
    /// Starts a teammate with its first prompt. The error is text for the model.
    fn spawn(&self, by: Name, member: Member, prompt: String) -> BoxFuture<'_, Result<(), String>>;

    /// Puts a request before whoever decides its kind, and waits until it is decided or withdrawn.
    fn ask<'a>(
        &'a self,
        from: &'a Name,
        kind: RequestKind,
        target: &'a Name,
        body: String,
    ) -> BoxFuture<'a, Result<Request, String>>;

    /// Puts a request before whoever decides its kind, and goes on. The request as it stands comes back.
    fn file<'a>(
        &'a self,
        from: &'a Name,
        kind: RequestKind,
        target: &'a Name,
        body: String,
    ) -> BoxFuture<'a, Result<Request, String>>;

    /// Decides a request in the name of `decision.by`. The error says why nothing changed.
    fn decide(&self, decision: Decision) -> BoxFuture<'_, Result<Request, String>>;

    /// Output of a running call, for the screen.
    fn output(&self, agent: &Name, call: &CallId, chunk: String);

    /// An agent's new todo list.
    fn todo<'a>(&'a self, agent: &'a Name, list: TodoList) -> BoxFuture<'a, ()>;
}
