//! One hook of a file: when it runs and what it runs.

use std::collections::BTreeMap;
use std::time::Duration;

use super::event::HookEvent;
use super::input::{HookContext, HookInput};
use super::matcher::Matcher;
use super::rule::ToolRule;

/// Where a hook is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSource {
    /// The file as it is shown.
    pub file: String,
    /// Whether the project brings it. It then runs only after approval.
    pub is_project: bool,
    /// The position among the hooks of the file.
    pub index: usize,
}

/// What a hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookHandler {
    Command {
        /// A shell command, or the program if there are `args`.
        command: String,
        /// The arguments of a program that is started without a shell.
        args: Option<Vec<String>>,
    },
    /// The input is posted to this address.
    Http {
        url: String,
        /// The headers, with `$NAME` and `${NAME}` for the variables in `env`.
        headers: BTreeMap<String, String>,
        /// The names of the variables that headers may contain.
        env: Vec<String>,
    },
}

/// One hook of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSpec {
    pub source: HookSource,
    pub event: HookEvent,
    pub matcher: Matcher,
    pub condition: Option<ToolRule>,
    pub handler: HookHandler,
    /// Maximum run time; `None` for the event's default.
    pub timeout: Option<Duration>,
    /// Whether nothing waits for the hook. Its answer has no effect.
    pub is_async: bool,
    /// Whether a failure of the hook blocks, as exit code 2 does.
    pub blocks_on_failure: bool,
}

impl HookSpec {
    /// Returns whether the hook runs for this event.
    pub fn applies(&self, input: &HookInput, context: &HookContext) -> bool {
        let event = input.event();
        if event != self.event {
            return false;
        }
        if event.has_matcher() {
            let subjects = input.subjects(context);
            // A subagent without a type has no subject; only a hook for all runs then.
            let is_match = self.matcher == Matcher::All
                || self.matcher.matches(subjects.iter().map(String::as_str));
            if !is_match {
                return false;
            }
        }
        self.condition.as_ref().is_none_or(|rule| {
            let call = input.external_call(context);
            call.is_some_and(|call| rule.matches(&call, &context.dir))
        })
    }

    /// Returns the event and the matcher, such as `PreToolUse (Bash)`.
    pub fn label(&self) -> String {
        let event = self.event.name();
        let matcher = match &self.matcher {
            Matcher::All => String::new(),
            matcher => format!(" ({})", matcher.text()),
        };
        match &self.condition {
            Some(rule) => format!("{event}{matcher} if {}", rule.text()),
            None => format!("{event}{matcher}"),
        }
    }

    /// Returns what runs, as it is written in the file.
    pub fn runs(&self) -> String {
        match &self.handler {
            HookHandler::Command { command, args } => {
                let args = args.iter().flatten().map(|arg| format!(" {arg}"));
                format!("{command}{}", args.collect::<String>())
            }
            HookHandler::Http { url, .. } => format!("POST {url}"),
        }
    }

    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or_else(|| self.event.default_timeout())
    }
}

/// Returns the hooks that run for an event, in the order of their files. Of hooks with the same handler, only the first
/// one is returned.
pub fn distinct<'a>(
    hooks: &'a [HookSpec],
    input: &HookInput,
    context: &HookContext,
) -> Vec<&'a HookSpec> {
    let mut out: Vec<&HookSpec> = Vec::new();
    for hook in hooks.iter().filter(|hook| hook.applies(input, context)) {
        if !out.iter().any(|earlier| earlier.handler == hook.handler) {
            out.push(hook);
        }
    }
    out
}
