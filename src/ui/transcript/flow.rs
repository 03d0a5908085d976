//! Styled text in lines of a width: broken at blanks, by the columns that people see. Linear in its length.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::ui::textual::width;

/// A run of text in one style.
pub type Run = (String, Style);

/// What stands in front of the lines of a block.
#[derive(Debug, Clone, Default)]
pub struct Margin {
    /// In front of the first line.
    pub first: Vec<Run>,
    /// In front of the others.
    pub rest: Vec<Run>,
}

impl Margin {
    /// The same in front of every line.
    pub fn all(runs: Vec<Run>) -> Margin {
        Margin {
            first: runs.clone(),
            rest: runs,
        }
    }

    fn columns(&self) -> usize {
        let count = |runs: &[Run]| runs.iter().map(|(t, _)| width(t)).sum::<usize>();
        count(&self.first).max(count(&self.rest))
    }
}

/// How a line that is too long is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// At blanks, which are not drawn there.
    Words,
    /// Anywhere: every blank counts.
    Anywhere,
}

/// `runs` in lines of at most `columns`. A newline in them always breaks. No character is lost but the
/// blanks at which a line of words breaks.
pub fn flow(runs: &[Run], columns: usize, margin: &Margin, how: Break) -> Vec<Line<'static>> {
    let room = columns.saturating_sub(margin.columns()).max(1);
    let mut out = Flow {
        lines: Vec::new(),
        line: Vec::new(),
        used: 0,
        margin,
    };
    for (text, style) in runs {
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                out.end_line();
            }
            match how {
                Break::Words => out.words(part, *style, room),
                Break::Anywhere => out.letters(part, *style, room),
            }
        }
    }
    if !out.line.is_empty() || out.lines.is_empty() {
        out.end_line();
    }
    out.lines
}

struct Flow<'a> {
    lines: Vec<Line<'static>>,
    line: Vec<Run>,
    used: usize,
    margin: &'a Margin,
}

impl Flow<'_> {
    fn words(&mut self, text: &str, style: Style, room: usize) {
        for word in text.split_word_bounds() {
            let wide = width(word);
            let is_blank = word.chars().all(|c| c == ' ');
            if self.used + wide <= room {
                // A line that was broken does not begin with the blank at which it broke.
                if is_blank && self.used == 0 && !self.lines.is_empty() {
                    continue;
                }
                self.put(word, style, wide);
            } else if is_blank {
                self.end_line();
            } else if wide <= room {
                // What hangs on the word without a blank (quotes, commas, other styles) goes with it.
                let tail = self.take_tail(room.saturating_sub(wide));
                self.trim_line();
                self.end_line();
                for (text, style) in tail {
                    let wide = width(&text);
                    self.put(&text, style, wide);
                }
                self.put(word, style, wide);
            } else {
                self.letters(word, style, room);
            }
        }
    }

    fn letters(&mut self, text: &str, style: Style, room: usize) {
        for grapheme in text.graphemes(true) {
            let wide = width(grapheme);
            if self.used + wide > room && self.used > 0 {
                self.end_line();
            }
            self.put(grapheme, style, wide);
        }
    }

    fn put(&mut self, text: &str, style: Style, wide: usize) {
        match self.line.last_mut() {
            Some((last, of)) if *of == style => last.push_str(text),
            Some(_) | None => self.line.push((text.into(), style)),
        }
        self.used += wide;
    }

    /// Takes what stands behind the last blank of the line, if it is not the whole line and fits.
    fn take_tail(&mut self, room: usize) -> Vec<Run> {
        let whole: usize = self.line.iter().map(|(t, _)| t.len()).sum();
        let mut behind = 0;
        for (text, _) in self.line.iter().rev() {
            match text.rfind(' ') {
                Some(at) => {
                    behind += text.len() - at - 1;
                    break;
                }
                None => behind += text.len(),
            }
        }
        if behind == 0 || behind >= whole {
            return Vec::new();
        }
        let mut left = behind;
        let mut tail = Vec::new();
        while left > 0 {
            let Some((text, style)) = self.line.last_mut() else {
                break;
            };
            if text.len() <= left {
                left -= text.len();
                tail.extend(self.line.pop());
            } else {
                let cut = text.split_off(text.len() - left);
                tail.push((cut, *style));
                left = 0;
            }
        }
        tail.reverse();
        if tail.iter().map(|(t, _)| width(t)).sum::<usize>() > room {
            self.line.append(&mut tail);
        }
        tail
    }

    fn trim_line(&mut self) {
        while let Some((text, _)) = self.line.last_mut() {
            let kept = text.trim_end_matches(' ').len();
            text.truncate(kept);
            if kept > 0 {
                return;
            }
            self.line.pop();
        }
    }

    fn end_line(&mut self) {
        let margin = if self.lines.is_empty() {
            &self.margin.first
        } else {
            &self.margin.rest
        };
        let line = std::mem::take(&mut self.line);
        let spans = margin
            .iter()
            .cloned()
            .chain(line)
            .map(|(text, style)| Span::styled(text, style));
        self.lines.push(Line::from(spans.collect::<Vec<_>>()));
        self.used = 0;
    }
}
