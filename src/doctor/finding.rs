//! A finding of a check: its severity, what was found, and what to do about it.

use std::fmt;

use serde::Serialize;

use super::fix::Fix;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Ok,
    /// Something works, but needs attention.
    Warn,
    /// Something does not work.
    Fail,
}

impl Level {
    /// Returns a symbol by which the level can be recognised without colours.
    pub fn symbol(self) -> &'static str {
        match self {
            Level::Ok => "✓",
            Level::Warn => "!",
            Level::Fail => "✗",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail => "fail",
        })
    }
}

/// One thing that a check of `crewdeck doctor` reports: what was found, how severe it is, and what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    /// What was found. Usually one line.
    pub text: String,
    /// What the user can do about the finding, one alternative per line. Every warning and failure has a remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The fix that `doctor --mend` applies; `None` if only the user can act, or must wait for the running crew. A fix never
    /// loses work.
    #[serde(rename = "mend", skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

impl Finding {
    pub fn ok(check: &'static str, text: impl Into<String>) -> Finding {
        Finding {
            check,
            level: Level::Ok,
            text: text.into(),
            remedy: None,
            fix: None,
        }
    }

    pub fn warn(
        check: &'static str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            level: Level::Warn,
            remedy: Some(remedy.into()),
            ..Finding::ok(check, text)
        }
    }

    pub fn fail(
        check: &'static str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            level: Level::Fail,
            ..Finding::warn(check, text, remedy)
        }
    }

    #[must_use]
    pub fn with_fix(self, fix: Fix) -> Finding {
        Finding {
            fix: Some(fix),
            ..self
        }
    }
}
