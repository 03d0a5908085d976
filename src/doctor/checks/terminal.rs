//! Checks the terminal: its size, its colours, and whether the locale is UTF-8.

use std::io::IsTerminal;

use crate::doctor::{DoctorContext, Finding};

const CHECK: &str = "terminal";
/// The minimum size of the dashboard in columns and rows.
const SMALLEST: (u16, u16) = (60, 16);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Facts {
    /// Columns and rows of the terminal; `None` if the output is not a terminal or its size is unknown.
    size: Option<(u16, u16)>,
    term: String,
    colorterm: String,
    /// The locale: the first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set and not empty; empty if there is none.
    locale: String,
    no_color: String,
    tmux: String,
}

/// Checks whether this process's terminal is large enough and can move its cursor, and whether the locale is UTF-8.
pub fn run(_: &DoctorContext) -> Vec<Finding> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_terminal = std::io::stdout().is_terminal();
    evaluate(&Facts {
        size: is_terminal
            .then(|| crossterm::terminal::size().ok())
            .flatten(),
        term: variable("TERM"),
        colorterm: variable("COLORTERM"),
        locale: ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .map(variable)
            .find(|value| !value.is_empty())
            .unwrap_or_default(),
        no_color: variable("NO_COLOR"),
        tmux: variable("TMUX"),
    })
}

fn evaluate(facts: &Facts) -> Vec<Finding> {
    let mut found = vec![screen(facts)];
    if !is_utf8(&facts.locale) {
        let locale = match facts.locale.as_str() {
            "" => "no locale is set",
            locale => &format!("the locale is {locale}"),
        };
        found.push(Finding::warn(
            CHECK,
            format!("{locale}, so borders and symbols may look wrong"),
            "set a UTF-8 locale: export LANG=C.UTF-8",
        ));
    }
    let is_dumb = facts.term == "dumb" || facts.term.is_empty();
    if is_dumb && facts.size.is_some() {
        found.push(Finding::fail(
            CHECK,
            "the terminal cannot move its cursor (TERM is unset or \"dumb\")",
            "set TERM to your terminal's type, or use crewdeck run",
        ));
    }
    found
}

fn screen(facts: &Facts) -> Finding {
    let mut words = vec![match facts.term.as_str() {
        "" => "TERM is not set".to_string(),
        term => term.to_string(),
    }];
    words.push(colours(facts).into());
    if !facts.tmux.is_empty() {
        words.push("in tmux".into());
    }
    let Some((columns, rows)) = facts.size else {
        let text = format!("the output is not a terminal ({})", words.join(", "));
        return Finding::ok(CHECK, text);
    };
    let text = format!("{columns}x{rows}, {}", words.join(", "));
    if columns < SMALLEST.0 || rows < SMALLEST.1 {
        let (columns, rows) = SMALLEST;
        return Finding::warn(
            CHECK,
            format!("{text}: too small to show everything"),
            format!("resize it to {columns}x{rows} or larger"),
        );
    }
    Finding::ok(CHECK, text)
}

fn colours(facts: &Facts) -> &'static str {
    let is_true = ["truecolor", "24bit"].contains(&facts.colorterm.as_str());
    if !facts.no_color.is_empty() {
        "no colours (NO_COLOR)"
    } else if is_true || facts.term.ends_with("-direct") {
        "16 million colours"
    } else if facts.term.contains("256") {
        "256 colours"
    } else {
        "16 colours"
    }
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    let (name, _modifier) = locale.split_once('@').unwrap_or((&locale, ""));
    name.ends_with("utf-8") || name.ends_with("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use pretty_assertions::assert_eq;

    fn good() -> Facts {
        Facts {
            size: Some((120, 40)),
            term: "xterm-256color".into(),
            locale: "de_DE.UTF-8".into(),
            ..Facts::default()
        }
    }

    #[test]
    fn terminal_size_and_colours_are_reported() {
        for (facts, level, text) in [
            (good(), Level::Ok, "120x40, xterm-256color, 256 colours"),
            (
                Facts {
                    colorterm: "truecolor".into(),
                    tmux: "/tmp/t".into(),
                    ..good()
                },
                Level::Ok,
                "120x40, xterm-256color, 16 million colours, in tmux",
            ),
            (
                Facts {
                    no_color: "1".into(),
                    ..good()
                },
                Level::Ok,
                "120x40, xterm-256color, no colours (NO_COLOR)",
            ),
            (
                Facts {
                    size: Some((59, 16)),
                    ..good()
                },
                Level::Warn,
                "59x16, xterm-256color, 256 colours: too small to show everything",
            ),
            (
                Facts {
                    size: None,
                    ..good()
                },
                Level::Ok,
                "the output is not a terminal (xterm-256color, 256 colours)",
            ),
        ] {
            let found = evaluate(&facts);
            assert_eq!(
                (found.len(), found[0].level, found[0].text.as_str()),
                (1, level, text)
            );
        }
    }

    #[test]
    fn non_utf8_locale_warns_and_dumb_terminal_fails() {
        for locale in ["", "C", "POSIX", "de_DE@euro", "ja_JP.eucJP"] {
            let found = evaluate(&Facts {
                locale: locale.into(),
                ..good()
            });
            assert_eq!(found[1].level, Level::Warn, "{locale}");
        }
        for locale in [
            "C.UTF-8",
            "en_US.utf8",
            "ca_ES.UTF-8@valencia",
            "de_DE.utf8@euro",
        ] {
            let found = evaluate(&Facts {
                locale: locale.into(),
                ..good()
            });
            assert_eq!(found.len(), 1, "{locale}");
        }
        let found = evaluate(&Facts {
            term: "dumb".into(),
            ..good()
        });
        assert_eq!(found[1].level, Level::Fail);
    }
}
