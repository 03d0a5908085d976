//! Matches the lines of a model's text with lines of a file. If nothing matches, ignores more differences and tries
//! again.

use std::borrow::Cow;
use std::collections::HashMap;

/// How many occurrences of the old text the file may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrences {
    /// The file must contain the text exactly once. If it contains the text more than once, the edit fails.
    One,
    /// The file may contain the text any number of times. All occurrences are replaced.
    All,
}

#[derive(Debug, Clone, Copy)]
pub struct FileLine<'a> {
    pub text: &'a str,
    /// The line end: `\n`, `\r\n`, or empty if the file ends without one.
    pub end: &'a str,
    /// Offset of the first byte of the line in the file.
    pub start: usize,
}

impl FileLine<'_> {
    pub fn after(&self) -> usize {
        self.start + self.text.len() + self.end.len()
    }

    /// Returns whether the line is empty or only whitespace.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// For each line of the model's text, the index of the matching line of the file, counted from 0. `None` if there is no
/// matching line, which is allowed only for blank lines.
pub type Pairs = Vec<Option<usize>>;

/// Which differences are ignored when lines are compared. The variants are ordered by strictness, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// Ignores whitespace at the end of lines.
    LineEnds,
    /// Ignores whitespace at both ends of lines.
    Indentation,
    /// Also ignores blank lines, typographic variants of ASCII characters, and spacing within lines. Whether there is a
    /// space between two words still matters.
    Spacing,
    /// Also ignores which kind of quotes is used, and commas and semicolons at the end of lines.
    Quotes,
}

impl Tolerance {
    const ALL: [Tolerance; 4] = [
        Tolerance::LineEnds,
        Tolerance::Indentation,
        Tolerance::Spacing,
        Tolerance::Quotes,
    ];

    /// Returns what this tolerance ignores, as text for the tool result.
    pub fn label(self) -> &'static str {
        match self {
            Tolerance::LineEnds => "whitespace at line ends",
            Tolerance::Indentation => "indentation",
            Tolerance::Spacing => "spacing and blank lines",
            Tolerance::Quotes => "quotes, commas and semicolons",
        }
    }

    fn key(self, line: &str) -> Cow<'_, str> {
        match self {
            Tolerance::LineEnds => Cow::Borrowed(line.trim_end()),
            Tolerance::Indentation => Cow::Borrowed(line.trim()),
            Tolerance::Spacing => Cow::Owned(normalise_spaces(line)),
            Tolerance::Quotes => {
                let line = normalise_spaces(line).replace(['"', '`'], "'");
                Cow::Owned(line.trim_end_matches([',', ';']).to_string())
            }
        }
    }

    fn skips_blank_lines(self) -> bool {
        match self {
            Tolerance::LineEnds | Tolerance::Indentation => false,
            Tolerance::Spacing | Tolerance::Quotes => true,
        }
    }
}

/// Splits the text of a file into lines, at `\n` and `\r\n`. A newline at the end of the text does not begin another
/// line.
pub fn split(text: &str) -> Vec<FileLine<'_>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|whole| {
            let text = match whole.strip_suffix('\n') {
                Some(text) => text.strip_suffix('\r').unwrap_or(text),
                None => whole,
            };
            let line = FileLine {
                text,
                end: &whole[text.len()..],
                start,
            };
            start += whole.len();
            line
        })
        .collect()
}

/// Splits the text of a model into lines. A newline at the end of the text does not begin another line.
pub fn pattern(text: &str) -> Vec<&str> {
    split(text).iter().map(|line| line.text).collect()
}

/// Returns the places where the lines of `old` match lines of `file`, and the strictest tolerance with which there is a
/// match. With [`Occurrences::All`], the places do not overlap. Returns `None` if there is no match, or if all lines of
/// `old` are blank.
pub fn find(
    file: &[FileLine<'_>],
    old: &[&str],
    places: Occurrences,
) -> Option<(Tolerance, Vec<Pairs>)> {
    if old.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    Tolerance::ALL.into_iter().find_map(|step| {
        let found = matches(file, old, step, places);
        (!found.is_empty()).then_some((step, found))
    })
}

fn matches(
    file: &[FileLine<'_>],
    old: &[&str],
    step: Tolerance,
    places: Occurrences,
) -> Vec<Pairs> {
    let blanks = step.skips_blank_lines();
    let file_at: Vec<usize> = numbers(file.iter().map(|l| l.text), blanks);
    let old_at: Vec<usize> = numbers(old.iter().copied(), blanks);
    let mut known: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut id = |line| {
        let next = known.len();
        *known.entry(step.key(line)).or_insert(next)
    };
    let pattern: Vec<usize> = old_at.iter().map(|at| id(old[*at])).collect();
    let text: Vec<usize> = file_at.iter().map(|at| id(file[*at].text)).collect();
    occurrences(&text, &pattern, places)
        .into_iter()
        .map(|first| {
            let mut pairs = vec![None; old.len()];
            for (nth, at) in old_at.iter().enumerate() {
                pairs[*at] = Some(file_at[first + nth]);
            }
            pair_blanks(file, &mut pairs);
            pairs
        })
        .collect()
}

/// Returns the indexes of the lines, counted from 0. If `skips_blank_lines` is true, blank lines are left out.
pub fn numbers<'a>(lines: impl Iterator<Item = &'a str>, skips_blank_lines: bool) -> Vec<usize> {
    lines
        .enumerate()
        .filter(|(_, line)| !skips_blank_lines || !line.trim().is_empty())
        .map(|(at, _)| at)
        .collect()
}

/// Pairs each unmatched line of the model's text with a blank line of the file that lies between the matched lines
/// around it. If there is no such blank line, the line stays unmatched.
pub fn pair_blanks(file: &[FileLine<'_>], pairs: &mut [Option<usize>]) {
    let mut last: Option<usize> = None;
    for at in 0..pairs.len() {
        if let Some(found) = pairs[at] {
            last = Some(found);
            continue;
        }
        let next = pairs[at..].iter().flatten().next().copied();
        if let (Some(before), Some(next)) = (last, next)
            && before + 1 < next
            && file[before + 1].is_blank()
        {
            pairs[at] = Some(before + 1);
            last = Some(before + 1);
        }
    }
}

/// Returns the indexes in `text` at which `pattern`, which must not be empty, begins; with [`Occurrences::All`], leaves
/// out occurrences that overlap an earlier one. Uses the Knuth-Morris-Pratt algorithm, which takes linear time even if
/// lines repeat.
fn occurrences(text: &[usize], pattern: &[usize], places: Occurrences) -> Vec<usize> {
    let mut border = vec![0; pattern.len()];
    let mut len = 0;
    for at in 1..pattern.len() {
        while len > 0 && pattern[at] != pattern[len] {
            len = border[len - 1];
        }
        if pattern[at] == pattern[len] {
            len += 1;
        }
        border[at] = len;
    }
    let mut out = Vec::new();
    let mut len = 0;
    for (at, id) in text.iter().enumerate() {
        while len > 0 && *id != pattern[len] {
            len = border[len - 1];
        }
        if *id == pattern[len] {
            len += 1;
        }
        if len == pattern.len() {
            out.push(at + 1 - len);
            len = match places {
                Occurrences::One => border[len - 1],
                Occurrences::All => 0,
            };
        }
    }
    out
}

/// Removes the whitespace of a line, but keeps one space between two words. Converts typographic characters to ASCII.
fn normalise_spaces(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut has_gap = false;
    for c in line.chars().map(ascii) {
        if c.is_whitespace() {
            has_gap = true;
            continue;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if has_gap && is_word(c) && out.chars().next_back().is_some_and(is_word) {
            out.push(' ');
        }
        has_gap = false;
        out.push(c);
    }
    out
}

/// Returns the ASCII form of a typographic quote or dash, and a space for an invisible character. Other characters stay
/// unchanged.
fn ascii(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{feff}' | '\u{200b}' => ' ',
        other => other,
    }
}
