//! One finding of a check: how bad it is, what was found, what to do about it.

use std::fmt;

use serde::Serialize;

use super::mend::Mend;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, and something is to be seen to.
    Warn,
    /// It does not work.
    Fail,
}

impl Level {
    /// Its mark: shape and word carry the meaning, not the colour.
    pub fn mark(self) -> &'static str {
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

/// What a check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The check.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found, on one line.
    pub text: String,
    /// What to do about it, one way a line; every warning and failure has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// What `doctor --mend` does about it: nothing is lost with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<Mend>,
}

impl Finding {
    /// All is well.
    pub fn ok(check: &'static str, text: impl Into<String>) -> Finding {
        Finding {
            check,
            level: Level::Ok,
            text: text.into(),
            remedy: None,
            mend: None,
        }
    }

    /// Something to be seen to, and how.
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

    /// Something that does not work, and what to do.
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

    /// The same, with what `--mend` does about it.
    #[must_use]
    pub fn mended_by(self, mend: Mend) -> Finding {
        Finding {
            mend: Some(mend),
            ..self
        }
    }
}
