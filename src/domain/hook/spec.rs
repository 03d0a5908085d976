//! One hook of a configuration file: when it runs and what it runs.

use std::collections::BTreeMap;
use std::time::Duration;

use super::event::HookEvent;
use super::input::{HookContext, HookInput};
use super::matcher::Matcher;
use super::rule::ToolRule;

/// Where a hook is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSource {
    /// The path of the file, as messages show it.
    pub file: String,
    /// Whether a file of the project declares the hook. The hook then runs only if the user has approved it.
    pub is_project: bool,
    /// The position of the hook among all hooks of the file, counted from 0.
    pub index: usize,
}

/// The program that a hook runs, or the URL that it calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookHandler {
    Command {
        /// A shell command. If `args` is `Some`, the program to start without a shell.
        command: String,
        /// The arguments of a program that is started without a shell; `None` for a shell command.
        args: Option<Vec<String>>,
    },
    /// The event is sent to `url` in a POST request.
    Http {
        url: String,
        /// The names and values of the headers. In a value, `$NAME` and `${NAME}` stand for an environment variable
        /// listed in `env`; names that are not listed or not set become an empty text.
        headers: BTreeMap<String, String>,
        /// The names of the environment variables that headers may contain.
        env: Vec<String>,
    },
}

/// One hook of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSpec {
    pub source: HookSource,
    pub event: HookEvent,
    pub matcher: Matcher,
    /// The permission rule that a tool call must match; `None` if the hook runs for all calls. Only hooks of tool
    /// events have a rule.
    pub condition: Option<ToolRule>,
    pub handler: HookHandler,
    /// Maximum run time of the hook; `None` for the default of the event.
    pub timeout: Option<Duration>,
    /// Whether crewdeck continues without waiting for the hook. The hook's answer then has no effect. At the end of a
    /// session, crewdeck waits for the hook nevertheless.
    pub is_async: bool,
    /// Whether a failure of the hook blocks the event, as exit code 2 does.
    pub blocks_on_failure: bool,
}

impl HookSpec {
    /// Returns whether the hook runs for the event `input`: its event, matcher and permission rule must all match. The
    /// matcher counts only if [`HookEvent::has_matcher`] is true.
    pub fn applies(&self, input: &HookInput, context: &HookContext) -> bool {
        let event = input.event();
        if event != self.event {
            return false;
        }
        if event.has_matcher() {
            let subjects = input.subjects(context);
            // A subagent without a type has no text for the matcher, so only hooks without a matcher run for it.
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

    /// Returns the event, the matcher and the permission rule of the hook, such as `PreToolUse (Bash) if Bash(git *)`.
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

    /// Returns what the hook runs, as the configuration file writes it: the command with its arguments, or `POST` and
    /// the URL.
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

/// Returns the hooks that run for the event `input`, in the order of `hooks`. If several hooks have the same handler
/// (the same command and arguments, or the same URL, headers and variables), returns only the first of them.
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
