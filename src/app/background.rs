//! The background colour of the terminal. If the user has not chosen a theme, this colour decides which one is used.
//!
//! crewdeck asks the terminal once, with the first frame (OSC 11), and does not wait for the answer. crossterm does not
//! know such answers and reads them as keys: `Alt+]`, the text `11;rgb:…`, and `Ctrl+g` or `Alt+\` for the end. This
//! module removes these keys from the input until the answer is complete. If the terminal does not answer, all keys are
//! passed on.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use crate::config::Settings;
use crate::ui::{ColorDepth, Theme, ThemeName};

/// First characters of the text in the terminal's answer. The escape character and the `]` before this text are read as
/// the key `Alt+]`.
const START: &str = "11;rgb";
/// Maximum length of the text of the terminal's answer, in characters. The longest known form is `11;rgba:` with four
/// numbers of four digits.
const ANSWER_MAX: usize = 32;

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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum QueryState {
    #[default]
    NotAsked,
    Asked,
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
    pub fn begin(&mut self, settings: &Settings, depth: ColorDepth) -> bool {
        let is_due = self.state == QueryState::NotAsked
            && settings.theme.is_none()
            && depth == ColorDepth::True;
        if is_due {
            self.state = QueryState::Asked;
        }
        is_due
    }

    /// Returns the theme for the terminal's background. `None` if the background is unknown, or if `settings` choose a
    /// theme.
    pub fn theme(&self, settings: &Settings) -> Option<ThemeName> {
        match self.state {
            QueryState::Answered(theme) if settings.theme.is_none() => theme,
            QueryState::Answered(_) | QueryState::NotAsked | QueryState::Asked => None,
        }
    }

    pub fn is_answered(&self) -> bool {
        matches!(self.state, QueryState::Answered(_))
    }

    /// Takes the terminal's answer out of `inputs`. Returns the other inputs in order, and the theme for the background
    /// if the answer is complete. A key that may belong to an answer is held back until a later key shows whether it
    /// does.
    pub fn filter(&mut self, inputs: Vec<Event>) -> (Vec<Event>, Option<ThemeName>) {
        let mut out = Vec::with_capacity(inputs.len());
        let mut theme = None;
        let splits: Vec<bool> = (0..inputs.len())
            .map(|at| follows_lost_escape(&inputs[at..]))
            .collect();
        for (input, is_split) in inputs.into_iter().zip(splits) {
            match (&input, self.state) {
                (Event::Key(key), QueryState::Asked) => {
                    if self.take(*key, is_split) {
                        self.held.push(input);
                        theme = self.finished().or(theme);
                    } else {
                        self.text.clear();
                        out.append(&mut self.held);
                        // This key does not continue the held keys, but it may be the first key of an answer.
                        if self.take(*key, is_split) {
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

    /// Returns whether `key` belongs to the terminal's answer, and appends its character to `text`. An answer begins
    /// with `Alt+]`, or with `]` if `is_split` is true: the escape character then arrived separately. The key `Ctrl+g`
    /// or `Alt+\` completes the answer.
    fn take(&mut self, key: KeyEvent, is_split: bool) -> bool {
        if self.held.is_empty() {
            return is_split
                || (key.code, key.modifiers) == (KeyCode::Char(']'), KeyModifiers::ALT);
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
                let rgb = parse(&self.text);
                self.state = QueryState::Answered(rgb.map(Theme::suited_to));
                true
            }
            Some(AnswerPart::End) | None => false,
        }
    }

    /// If the terminal's answer is complete, drops its keys and returns the theme that suits the background. Returns
    /// `None` if the answer is incomplete or could not be parsed.
    fn finished(&mut self) -> Option<ThemeName> {
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

/// Returns whether `inputs` begin with an answer of the terminal whose escape character arrived separately and was read
/// as the key Esc. A user cannot type that many keys at once.
fn follows_lost_escape(inputs: &[Event]) -> bool {
    let sign = |input: &Event| match input {
        Event::Key(key) => match part(*key) {
            Some(AnswerPart::Sign(sign)) => Some(sign),
            Some(AnswerPart::End) | None => None,
        },
        _ => None,
    };
    let expected = std::iter::once(']').chain(START.chars()).map(Some);
    inputs.len() > START.len() && inputs.iter().map(sign).zip(expected).all(|(a, b)| a == b)
}

/// Parses `11;rgb:RRRR/GGGG/BBBB`, with one to four hexadecimal digits per colour, or the same with `rgba` and a fourth
/// value.
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

    fn asked() -> BackgroundQuery {
        let mut query = BackgroundQuery::default();
        assert!(query.begin(&Settings::default(), ColorDepth::True));
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
            let mut query = asked();
            let mut inputs = answer(color, end);
            inputs.insert(0, key('a', KeyModifiers::NONE));
            inputs.insert(4, Event::Resize(80, 24));
            inputs.push(key('b', KeyModifiers::NONE));
            let (rest, theme) = query.filter(inputs);
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
            let mut query = asked();
            let inputs = answer("ffff/ffff/ffff", string_terminator());
            let parts = inputs.chunks(size).map(|part| query.filter(part.to_vec()));
            let parts: Vec<_> = parts.collect();
            assert!(parts.iter().all(|(rest, _)| rest.is_empty()), "{size}");
            assert_eq!(parts.last().unwrap().1, Some(ThemeName::Light));
        }
        // The escape character alone was read as the key Esc.
        let mut inputs = answer("ffff/ffff/ffff", bell());
        inputs[0] = key(']', KeyModifiers::NONE);
        assert_eq!(asked().filter(inputs), (vec![], Some(ThemeName::Light)));
    }

    #[test]
    fn other_keys_pass_in_order() {
        let start = key(']', KeyModifiers::ALT);
        let one = key('1', KeyModifiers::NONE);
        let typed = |text: &str| -> Vec<Event> {
            text.chars().map(|c| key(c, KeyModifiers::NONE)).collect()
        };
        let mut query = asked();
        for keys in [
            typed("]11;r]"),
            typed("]"),
            vec![bell(), string_terminator()],
        ] {
            assert_eq!(query.filter(keys.clone()), (keys, None));
        }
        assert_eq!(
            query.filter(vec![start.clone(), one.clone()]),
            (vec![], None)
        );
        let all = vec![start.clone(), one.clone(), bell()];
        assert_eq!(query.filter(vec![bell()]), (all, None));
        // A broken answer, and then a whole one.
        let mut inputs = vec![start.clone(), one.clone()];
        inputs.extend(answer("0/0/0", bell()));
        assert_eq!(
            query.filter(inputs),
            (vec![start.clone(), one.clone()], Some(ThemeName::Dark))
        );
        // After the answer nothing is held.
        assert_eq!(
            query.filter(vec![start.clone()]),
            (vec![start.clone()], None)
        );
        let mut query_not_sent = BackgroundQuery::default();
        assert_eq!(
            query_not_sent.filter(vec![start.clone()]),
            (vec![start], None)
        );
    }

    #[test]
    fn asks_once_and_only_without_a_chosen_theme() {
        let mut query = asked();
        assert!(!query.begin(&Settings::default(), ColorDepth::True));
        let chosen = Settings {
            theme: Some("terminal".into()),
            ..Settings::default()
        };
        assert!(!BackgroundQuery::default().begin(&chosen, ColorDepth::True));
        for depth in [ColorDepth::None, ColorDepth::Sixteen, ColorDepth::Indexed] {
            assert!(!BackgroundQuery::default().begin(&Settings::default(), depth));
        }
        query.filter(answer("0/0/0", bell()));
        assert_eq!(query.theme(&chosen), None);
    }
}
