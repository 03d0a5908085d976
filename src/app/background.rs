//! The background colour of the terminal. If the user has not chosen a theme, this colour decides which one is used.
//!
//! crewdeck asks the terminal once, with the first frame (OSC 11), and does not wait for the answer. crossterm does not
//! know such answers and reads them as keys: `Alt+]`, the text `11;rgb:…`, and `Ctrl+g` or `Alt+\` for the end. This
//! module removes these keys from the input until the answer is complete. If the terminal does not answer, all keys are
//! passed on. An answer that comes later than [`ANSWER_WAIT`] is removed too, but does not change the theme, because
//! the user has begun to read.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use crate::config::Settings;
use crate::domain::timestamp::Timestamp;
use crate::ui::{ColorDepth, Theme, ThemeName};

/// First characters of the text in the terminal's answer. The escape character and the `]` before this text are read as
/// the key `Alt+]`.
const START: &str = "11;rgb";
/// Maximum length of the text of the terminal's answer, in characters. The longest known form is `11;rgba:` with four
/// numbers of four digits.
const ANSWER_MAX: usize = 32;
/// Time after the question to the terminal. Only within this time, the answer changes the theme, and a single key
/// `Alt+]` is held back as the possible start of an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(2);

/// Asks the terminal for its background colour once, and finds the answer among the inputs.
#[derive(Debug, Clone, Default)]
pub struct BackgroundQuery {
    state: QueryState,
    /// The keys of an incomplete answer of the terminal, held back until more keys arrive; empty if no answer has
    /// begun.
    held: Vec<Event>,
    /// The characters of the keys in `held`, except the first key, `Alt+]`.
    text: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum QueryState {
    #[default]
    NotAsked,
    /// The terminal was asked at this time.
    Asked(Timestamp),
    /// The terminal's answer is complete. Contains the theme that suits the background; `None` if the answer could not
    /// be parsed.
    Answered(Option<ThemeName>),
}

/// The part of the terminal's answer that a key stands for.
enum AnswerPart {
    Sign(char),
    End,
}

impl BackgroundQuery {
    /// Returns whether to ask the terminal now. The terminal is asked once, and only if the user has chosen no theme
    /// and the terminal shows 24-bit colours.
    pub fn begin(&mut self, settings: &Settings, depth: ColorDepth, now: Timestamp) -> bool {
        let is_due = self.state == QueryState::NotAsked
            && settings.theme.is_none()
            && depth == ColorDepth::True;
        if is_due {
            self.state = QueryState::Asked(now);
        }
        is_due
    }

    /// Returns the theme for the terminal's background. `None` if the background is unknown, or if `settings` choose a
    /// theme.
    pub fn theme(&self, settings: &Settings) -> Option<ThemeName> {
        match self.state {
            QueryState::Answered(theme) if settings.theme.is_none() => theme,
            QueryState::Answered(_) | QueryState::NotAsked | QueryState::Asked(_) => None,
        }
    }

    pub fn is_answered(&self) -> bool {
        matches!(self.state, QueryState::Answered(_))
    }

    /// Takes the terminal's answer out of `inputs`, and returns the other inputs. Also returns the theme for the
    /// background if this call completes an answer that is valid and not late, else `None`. A key that may belong to an
    /// answer is held back until a later key shows whether it does. Before the question and after the answer, returns
    /// `inputs` unchanged.
    pub fn filter(
        &mut self,
        inputs: Vec<Event>,
        now: Timestamp,
    ) -> (Vec<Event>, Option<ThemeName>) {
        let QueryState::Asked(since) = self.state else {
            return (inputs, None);
        };
        let is_late = now.since(since) > ANSWER_WAIT;
        let mut out = Vec::with_capacity(inputs.len());
        let mut theme = None;
        let starts: Vec<bool> = (0..inputs.len())
            .map(|at| starts_answer(&inputs[at..], is_late))
            .collect();
        for (input, is_start) in inputs.into_iter().zip(starts) {
            match (&input, self.state) {
                (Event::Key(key), QueryState::Asked(_)) => {
                    if self.take(*key, is_start, is_late) {
                        self.held.push(input);
                        theme = self.take_theme().or(theme);
                    } else {
                        self.text.clear();
                        out.append(&mut self.held);
                        // This key does not continue the held keys, but it may be the first key of an answer.
                        if self.take(*key, is_start, is_late) {
                            self.held.push(input);
                        } else {
                            out.push(input);
                        }
                    }
                }
                _ => out.push(input),
            }
        }
        (out, theme)
    }

    /// Returns whether `key` belongs to the terminal's answer, and if so, records it. `is_start` says whether an answer
    /// can begin with this key. The key `Ctrl+g` or `Alt+\` completes the answer; if the answer `is_late`, its colour
    /// is ignored.
    fn take(&mut self, key: KeyEvent, is_start: bool, is_late: bool) -> bool {
        if self.held.is_empty() {
            return is_start;
        }
        match part(key) {
            Some(AnswerPart::Sign(sign)) => {
                let at = self.text.len();
                let is_fit = match START.get(at..=at) {
                    Some(expected) => expected.starts_with(sign),
                    None => "a:/".contains(sign) || sign.is_ascii_hexdigit(),
                };
                let is_fit = is_fit && at < ANSWER_MAX;
                if is_fit {
                    self.text.push(sign);
                }
                is_fit
            }
            Some(AnswerPart::End) if self.text.len() > START.len() => {
                let rgb = parse(&self.text).filter(|_| !is_late);
                self.state = QueryState::Answered(rgb.map(Theme::suited_to));
                true
            }
            Some(AnswerPart::End) | None => false,
        }
    }

    /// If the terminal's answer is complete, drops its keys and returns the theme that suits the background. Returns
    /// `None` if the answer is incomplete or could not be parsed.
    fn take_theme(&mut self) -> Option<ThemeName> {
        let QueryState::Answered(theme) = self.state else {
            return None;
        };
        self.held.clear();
        self.text.clear();
        theme
    }
}

fn part(key: KeyEvent) -> Option<AnswerPart> {
    match (key.code, key.modifiers) {
        (KeyCode::Char(sign), KeyModifiers::NONE | KeyModifiers::SHIFT) => {
            Some(AnswerPart::Sign(sign))
        }
        (KeyCode::Char('g'), KeyModifiers::CONTROL) | (KeyCode::Char('\\'), KeyModifiers::ALT) => {
            Some(AnswerPart::End)
        }
        _ => None,
    }
}

/// Returns whether an answer of the terminal can begin with the first of `inputs`. It begins with the key `Alt+]`. If
/// the terminal library has read the escape character as the key Esc, the answer begins with the key `]` after it.
///
/// The text [`START`] must follow `]` in `inputs`, because a user cannot type that many keys at once. It must also
/// follow `Alt+]` if the answer `is_late`.
fn starts_answer(inputs: &[Event], is_late: bool) -> bool {
    let alt = (KeyCode::Char(']'), KeyModifiers::ALT);
    let is_whole =
        matches!(inputs.first(), Some(Event::Key(key)) if (key.code, key.modifiers) == alt);
    if is_whole && !is_late {
        return true;
    }
    let sign = |input: &Event| match input {
        Event::Key(key) => match part(*key) {
            Some(AnswerPart::Sign(sign)) => Some(sign),
            Some(AnswerPart::End) | None => None,
        },
        _ => None,
    };
    let text = inputs.get(1..).unwrap_or_default();
    let is_text = text.len() >= START.len()
        && text
            .iter()
            .map(sign)
            .zip(START.chars())
            .all(|(a, b)| a == Some(b));
    is_text && (is_whole || inputs.first().and_then(sign) == Some(']'))
}

/// Parses `11;rgb:RRRR/GGGG/BBBB`, with one to four hexadecimal digits per colour, or the same with `rgba` and a fourth
/// value. Returns red, green and blue from 0 to 255; `None` for any other text.
fn parse(text: &str) -> Option<[u8; 3]> {
    let values = text
        .strip_prefix(START)?
        .trim_start_matches('a')
        .strip_prefix(':')?;
    let mut values = values.split('/').map(|digits| {
        let most = match digits.len() {
            1 => 0xf,
            2 => 0xff,
            3 => 0xfff,
            4 => 0xffff,
            _ => return None,
        };
        let value = u32::from_str_radix(digits, 16).ok()?;
        u8::try_from(value * 255 / most).ok()
    });
    let rgb = [values.next()??, values.next()??, values.next()??];
    (values.count() <= 1).then_some(rgb)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const START_TIME: Timestamp = Timestamp(100.0);

    fn key(code: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(code), modifiers))
    }

    /// Returns the keys that crossterm reads for a terminal's answer with this colour.
    fn answer(color: &str, end: Event) -> Vec<Event> {
        let text = format!("11;rgb:{color}");
        let signs = text.chars().map(|c| key(c, KeyModifiers::NONE));
        let start = key(']', KeyModifiers::ALT);
        std::iter::once(start).chain(signs).chain([end]).collect()
    }

    fn bell() -> Event {
        key('g', KeyModifiers::CONTROL)
    }

    fn string_terminator() -> Event {
        key('\\', KeyModifiers::ALT)
    }

    fn begin_query() -> BackgroundQuery {
        let mut query = BackgroundQuery::default();
        assert!(query.begin(&Settings::default(), ColorDepth::True, START_TIME));
        query
    }

    #[test]
    fn answer_selects_the_theme_and_is_no_input() {
        let cases = [
            ("1e1e/1e1e/2e2e", bell(), Some(ThemeName::Dark)),
            (
                "ffff/FFFF/ffff",
                string_terminator(),
                Some(ThemeName::Light),
            ),
            ("fd/f6/e3", bell(), Some(ThemeName::Light)),
            ("0/0/0", bell(), Some(ThemeName::Dark)),
            ("00000/0/0", bell(), None),
            ("0/0", bell(), None),
        ];
        for (color, end, expected) in cases {
            let mut query = begin_query();
            let mut inputs = answer(color, end);
            inputs.insert(0, key('a', KeyModifiers::NONE));
            inputs.insert(4, Event::Resize(80, 24));
            inputs.push(key('b', KeyModifiers::NONE));
            let (rest, theme) = query.filter(inputs, START_TIME);
            let kept = [
                key('a', KeyModifiers::NONE),
                Event::Resize(80, 24),
                key('b', KeyModifiers::NONE),
            ];
            assert_eq!((rest, theme), (kept.to_vec(), expected), "{color}");
            assert_eq!(query.theme(&Settings::default()), expected);
        }
    }

    #[test]
    fn answer_may_arrive_in_any_parts() {
        for size in 1..25 {
            let mut query = begin_query();
            let inputs = answer("ffff/ffff/ffff", string_terminator());
            let parts = inputs
                .chunks(size)
                .map(|part| query.filter(part.to_vec(), START_TIME));
            let parts: Vec<_> = parts.collect();
            assert!(parts.iter().all(|(rest, _)| rest.is_empty()), "{size}");
            assert_eq!(parts.last().unwrap().1, Some(ThemeName::Light));
        }
        // The escape character alone was read as the key Esc.
        let mut inputs = answer("ffff/ffff/ffff", bell());
        inputs[0] = key(']', KeyModifiers::NONE);
        assert_eq!(
            begin_query().filter(inputs, START_TIME),
            (vec![], Some(ThemeName::Light))
        );
    }

    #[test]
    fn other_keys_pass_in_order() {
        let start = key(']', KeyModifiers::ALT);
        let one = key('1', KeyModifiers::NONE);
        let typed = |text: &str| -> Vec<Event> {
            text.chars().map(|c| key(c, KeyModifiers::NONE)).collect()
        };
        let mut query = begin_query();
        for keys in [
            typed("]11;r]"),
            typed("]"),
            vec![bell(), string_terminator()],
        ] {
            assert_eq!(query.filter(keys.clone(), START_TIME), (keys, None));
        }
        assert_eq!(
            query.filter(vec![start.clone(), one.clone()], START_TIME),
            (vec![], None)
        );
        let all = vec![start.clone(), one.clone(), bell()];
        assert_eq!(query.filter(vec![bell()], START_TIME), (all, None));
        // A broken answer, and then a whole one.
        let mut inputs = vec![start.clone(), one.clone()];
        inputs.extend(answer("0/0/0", bell()));
        assert_eq!(
            query.filter(inputs, START_TIME),
            (vec![start.clone(), one.clone()], Some(ThemeName::Dark))
        );
        // After the answer nothing is held.
        assert_eq!(
            query.filter(vec![start.clone()], START_TIME),
            (vec![start.clone()], None)
        );
        let mut query_not_sent = BackgroundQuery::default();
        assert_eq!(
            query_not_sent.filter(vec![start.clone()], START_TIME),
            (vec![start], None)
        );
    }

    #[test]
    fn late_answer_is_removed_but_changes_nothing() {
        let late = Timestamp(START_TIME.0 + 2.1);
        let start = key(']', KeyModifiers::ALT);
        let mut query = begin_query();
        // A single key is no longer held back.
        let keys = vec![start.clone()];
        assert_eq!(query.filter(keys.clone(), late), (keys, None));
        let mut inputs = answer("ffff/ffff/ffff", bell());
        inputs.push(key('a', KeyModifiers::NONE));
        let rest = vec![key('a', KeyModifiers::NONE)];
        assert_eq!(query.filter(inputs, late), (rest, None));
        assert_eq!(query.theme(&Settings::default()), None);
        assert!(query.is_answered());
        // The rest of the answer may arrive separately.
        let mut query = begin_query();
        let inputs = answer("0/0/0", string_terminator());
        for part in inputs.chunks(START.len() + 2) {
            assert_eq!(query.filter(part.to_vec(), late), (vec![], None));
        }
        // An answer that began in time and ended late.
        let mut query = begin_query();
        let inputs = answer("ffff/ffff/ffff", bell());
        let (first, second) = inputs.split_at(5);
        assert_eq!(query.filter(first.to_vec(), START_TIME), (vec![], None));
        assert_eq!(query.filter(second.to_vec(), late), (vec![], None));
    }

    #[test]
    fn asks_once_and_only_without_a_chosen_theme() {
        let mut query = begin_query();
        assert!(!query.begin(&Settings::default(), ColorDepth::True, START_TIME));
        let chosen = Settings {
            theme: Some("terminal".into()),
            ..Settings::default()
        };
        assert!(!BackgroundQuery::default().begin(&chosen, ColorDepth::True, START_TIME));
        for depth in [ColorDepth::None, ColorDepth::Sixteen, ColorDepth::Indexed] {
            let mut query = BackgroundQuery::default();
            assert!(!query.begin(&Settings::default(), depth, START_TIME));
        }
        query.filter(answer("0/0/0", bell()), START_TIME);
        assert_eq!(query.theme(&chosen), None);
    }
}
