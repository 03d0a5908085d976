//! The tool calls of the lead that are running, and the ids under which the editor knows them.

use crate::domain::ids::CallId;

/// Maximum number of running calls that are stored. If more run, the oldest are dropped, and their results are not
/// shown.
const CALLS_MAX: usize = 100;

#[derive(Debug)]
struct ShownCall {
    call: CallId,
    /// The id under which the editor knows the call. It is not the id from the model server, because that one can occur
    /// twice in a session.
    id: String,
    tool: String,
    /// The command, if the call runs one. Otherwise the input as JSON, as in
    /// [`PendingCall::input`](crate::domain::request::PendingCall::input).
    input: String,
}

/// The tool calls of the lead that are running.
#[derive(Debug, Default)]
pub struct ShownCalls {
    calls: Vec<ShownCall>,
    /// The number of the newest call, from which its id for the editor was made.
    last: u64,
}

impl ShownCalls {
    pub fn is_running(&self, call: &CallId) -> bool {
        self.calls.iter().any(|running| running.call == *call)
    }

    /// Records that `call` runs, or its new input if it was already running. Returns the id for the editor.
    pub fn open(&mut self, call: &CallId, tool: &str, input: String) -> String {
        if let Some(running) = self.calls.iter_mut().find(|c| c.call == *call) {
            running.input = input;
            return running.id.clone();
        }
        if self.calls.len() == CALLS_MAX {
            self.calls.remove(0);
        }
        self.last += 1;
        let id = format!("call-{}", self.last);
        self.calls.push(ShownCall {
            call: call.clone(),
            id: id.clone(),
            tool: tool.into(),
            input,
        });
        id
    }

    /// Records that `call` has ended. Returns the id under which the editor knows the call; `None` if the call is not
    /// running.
    pub fn close(&mut self, call: &CallId) -> Option<String> {
        let at = self
            .calls
            .iter()
            .position(|running| running.call == *call)?;
        Some(self.calls.remove(at).id)
    }

    /// Records that all running calls have ended. Returns the ids under which the editor knows them.
    pub fn close_all(&mut self) -> Vec<String> {
        self.calls.drain(..).map(|running| running.id).collect()
    }

    /// Returns the id under which the editor knows the running call of `tool` with this input; `None` if no such call
    /// runs.
    pub fn find(&self, tool: &str, input: &str) -> Option<&str> {
        let mut calls = self.calls.iter();
        let found = calls.find(|call| call.tool == tool && call.input == input);
        found.map(|call| call.id.as_str())
    }
}
