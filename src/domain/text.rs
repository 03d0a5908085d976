//! Escaping and shortening of untrusted text.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

/// Maximum length of a grapheme cluster that is shown, in bytes. The longest emoji sequences have about 40 bytes.
/// Longer clusters are stacks of combining marks, which a terminal draws over neighbouring rows.
pub const CLUSTER_MAX: usize = 64;

/// Returns a number with a noun whose plural ends in `s`: `1 file`, `2 files`.
pub fn count_noun(n: usize, noun: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{end}")
}

/// Replaces characters that could control a terminal, be invisible or change the text direction.
///
/// - A newline is kept, a tab becomes four spaces, a carriage return before a newline is dropped.
/// - Other control characters (C0, DEL, C1) become their Unicode picture or `�`.
/// - Invisible characters (zero-width, tags, fillers) and direction marks become `�`.
/// - Joiners and variation selectors are kept where they affect a visible character, as in emoji and some scripts.
/// - A grapheme cluster over [`CLUSTER_MAX`] bytes becomes its first character and `�`.
pub fn escape_control_chars(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
            '\u{7f}' => out.push('\u{2421}'),
            _ => out.push(visible_char(c, before, chars.peek().copied())),
        }
        before = Some(c);
    }
    cut_long_clusters(out)
}

/// Like [`escape_control_chars`], but replaces each character by exactly one, so that positions in the text stay valid.
/// Used for text in an input field. Does not change newlines and long grapheme clusters.
pub fn escape_each_char(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|b| b == b'\n' || (b' '..=b'~').contains(&b))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        out.push(match c {
            '\n' => c,
            _ => visible_char(c, before, chars.peek().copied()),
        });
        before = Some(c);
    }
    Cow::Owned(out)
}

/// Returns `c`. If `c` is [hidden](is_hidden) and does not affect how its neighbours `before` and `after` are shown,
/// returns `�` instead.
fn visible_char(c: char, before: Option<char>, after: Option<char>) -> char {
    match c {
        ' '..='~' => c,
        _ if is_hidden(c) && !has_visible_effect(c, before, after) => '\u{fffd}',
        _ => c,
    }
}

fn cut_long_clusters(text: String) -> String {
    let is_long = |cluster: &str| cluster.len() > CLUSTER_MAX;
    if text.is_ascii() || !text.graphemes(true).any(is_long) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for cluster in text.graphemes(true) {
        match cluster.chars().next() {
            Some(base) if is_long(cluster) => out.extend([base, '\u{fffd}']),
            Some(_) | None => out.push_str(cluster),
        }
    }
    out
}

/// Returns the first five names, separated by commas, followed by `…` if there are more.
pub fn first_names(names: &[String]) -> String {
    let shown = names[..names.len().min(5)].join(", ");
    let more = if names.len() > 5 { ", …" } else { "" };
    shown + more
}

/// Returns the text in `known` that is most similar to `word`, for "did you mean" hints. Returns `None` if no text has
/// a Jaro-Winkler similarity above 0.7. Case matters.
pub fn closest_match<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|known| (strsim::jaro_winkler(word, known), *known))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(similarity, _)| *similarity > 0.7)
        .map(|(_, known)| known)
}

/// Replaces [hidden](is_hidden) characters in serialized JSON by `\u` escapes. The JSON value stays the same. Needed
/// because serde_json only escapes characters below U+0020.
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && is_hidden(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns whether `c` is a control character, a direction mark or invisible (default ignorable in Unicode). True also
/// for newlines, tabs, joiners and variation selectors, wherever they are.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether the hidden character `c` affects how its neighbours are shown.
fn has_visible_effect(c: char, before: Option<char>, after: Option<char>) -> bool {
    let is_visible = |c: char| !c.is_ascii() && !is_hidden(c);
    match c {
        // Zero-width non-joiner and joiner, also after a variation selector: ❤️‍🔥.
        '\u{200c}' | '\u{200d}' => {
            before.is_some_and(|b| is_visible(b) || b == '\u{fe0f}')
                && after.is_some_and(is_visible)
        }
        // Text or emoji presentation; also after digits, # and *, as in keycaps.
        '\u{fe0e}' | '\u{fe0f}' => {
            before.is_some_and(|b| is_visible(b) || b.is_ascii_digit() || matches!(b, '#' | '*'))
        }
        _ => false,
    }
}

/// Like [`escape_control_chars`], but on one line: whitespace at the end is removed, and other newlines become `⏎`.
pub fn one_line(text: &str) -> String {
    escape_control_chars(text.trim_end()).replace('\n', "⏎")
}

/// Cuts `text` to `max` characters, at least 1. If text is cut off, the last of these characters is `…`.
pub fn clip(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.into();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Joins the first `max` names with commas. `all` is the total number of names, which can be larger than the length of
/// `names`. If some of them are not in the result, adds how many, as in `a, b and 3 more`.
pub fn join_names(names: &[String], max: usize, all: usize) -> String {
    let shown = &names[..names.len().min(max)];
    let names = shown.join(", ");
    match all.saturating_sub(shown.len()) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// Keeps the head and the tail of `text`, together at most `max` bytes, cut at character boundaries. A text of at most
/// `max` bytes is returned unchanged.
///
/// A marker between head and tail states how many bytes are missing. The marker is not counted in `max`.
pub fn head_and_tail(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.into();
    }
    let (head, tail) = cut_range(text, max);
    let marker = cut_marker(tail - head);
    format!("{}\n{marker}\n{}", &text[..head], &text[tail..])
}

/// A text that arrives in pieces. If it is longer than a maximum, only its start and its end are kept, as in
/// [`head_and_tail`]. Needs memory for at most twice the maximum and one piece.
pub struct LongText {
    text: String,
    /// Maximum size of the kept text, in bytes.
    max: usize,
    /// Size of the kept start of the text, in bytes; 0 until bytes are removed for the first time.
    head: usize,
    /// Number of bytes that were removed from the middle of the text so far.
    cut: usize,
}

impl LongText {
    /// Creates an empty text of which at most `max` bytes are kept.
    pub fn new(max: usize) -> LongText {
        LongText {
            text: String::new(),
            max,
            head: 0,
            cut: 0,
        }
    }

    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        if self.text.len() > 2 * self.max {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let (head, tail) = cut_range(&self.text, self.max);
        // The start stays the same from the first time on.
        if self.cut == 0 {
            self.head = head;
        }
        self.cut += tail - self.head;
        self.text.replace_range(self.head..tail, "");
    }

    /// Returns the whole text, or its start and its end with a marker between them that states how many bytes were
    /// removed.
    pub fn finish(mut self) -> String {
        if self.text.len() > self.max {
            self.shorten();
        }
        if self.cut > 0 {
            let marker = format!("\n{}\n", cut_marker(self.cut));
            self.text.insert_str(self.head, &marker);
        }
        self.text
    }
}

/// Returns the start and the end of the range of bytes that must be cut out of the middle of `text`, so that at most
/// `max` bytes remain. `text` must be longer than `max` bytes.
fn cut_range(text: &str, max: usize) -> (usize, usize) {
    let head = text.floor_char_boundary(max / 2);
    let tail = text.ceil_char_boundary(text.len() - (max - max / 2));
    (head, tail)
}

/// Returns the marker that stands for `bytes` bytes that were cut out of a text.
pub fn cut_marker(bytes: usize) -> String {
    format!("[… {bytes} bytes cut here …]")
}

/// Returns how many bytes [`head_and_tail`] has removed, according to the markers in `text`. A line that only looks
/// like a marker is counted too.
pub fn bytes_cut(text: &str) -> usize {
    let cut = |line: &str| -> Option<usize> {
        let number = line
            .strip_prefix("[… ")?
            .strip_suffix(" bytes cut here …]")?;
        number.parse().ok()
    };
    text.lines().filter_map(cut).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            escape_control_chars("a\u{1b}[2Jb\r\nc\rd\u{9b}x\u{202e}y"),
            "a␛[2Jb\nc␍d�x�y"
        );
        assert_eq!(one_line("two\nlines\n"), "two⏎lines");
    }

    #[test]
    fn invisible_characters_are_replaced() {
        for (text, shown) in [
            ("a\u{61c}b\u{2066}c\u{2069}d", "a�b�c�d"),
            ("a\u{ad}b\u{34f}c\u{180e}d\u{3164}e", "a�b�c�d�e"),
            ("hi\u{e0001}\u{e0068}\u{e007f}", "hi���"),
            ("a\u{fe00}\u{e0100}b\u{fe0f}c", "a��b�c"),
            ("中\u{fe0f}\u{fe0f}\u{e0100}", "中\u{fe0f}��"),
            ("a\u{200d}b\u{200c}c\u{200d}", "a�b�c�"),
            ("中\u{200d}\u{200d}中", "中��中"),
        ] {
            assert_eq!(escape_control_chars(text), shown, "{text:?}");
        }
    }

    #[test]
    fn escaped_json_keeps_its_value() {
        let value = serde_json::json!({"a\u{9b}": "b\u{7f}\u{202e}\u{e0041}\u{1b}\n中"});
        let text = escape_json(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(
            text,
            "{\n  \"a\\u009b\": \"b\\u007f\\u202e\\udb40\\udc41\\u001b\\n中\"\n}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    #[test]
    fn long_grapheme_clusters_are_cut() {
        let zalgo = format!("a{}b", "\u{301}".repeat(40));
        let family = "👩\u{200d}".repeat(30) + "👩";
        let jamo = "\u{1100}".repeat(30);
        assert_eq!(escape_control_chars(&zalgo), "a�b");
        assert_eq!(escape_control_chars(&family), "👩�");
        assert_eq!(escape_control_chars(&jamo), "\u{1100}�");
        let few = format!("a{}b", "\u{301}".repeat(8));
        assert_eq!(escape_control_chars(&few), few);
    }

    #[test]
    fn joiners_in_emoji_and_scripts_are_kept() {
        for text in [
            "👩🏽‍❤️‍💋‍👨🏿 👨‍👩‍👧 ❤️‍🔥",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} ☎\u{fe0e}",
            "می\u{200c}خواهم क्\u{200d}ष",
            "e\u{301} ü 中文 ไทย",
        ] {
            assert_eq!(escape_control_chars(text), text);
            assert_eq!(escape_control_chars(&escape_control_chars(text)), text);
        }
    }

    #[test]
    fn cuts_are_marked_and_keep_characters_whole() {
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(clip("abc", 4), "abc");
        let long = "é".repeat(100);
        let cut = head_and_tail(&long, 21);
        assert!(cut.contains("bytes cut here"), "{cut}");
        assert!(bytes_cut(&cut) > 0 && bytes_cut(&long) == 0);
        assert!(cut.starts_with("ééééé\n") && cut.ends_with('é'));
        assert_eq!(head_and_tail("short", 21), "short");
        let long = "e".repeat(200);
        let mut pieces = LongText::new(21);
        for piece in long.as_bytes().chunks(9).map(String::from_utf8_lossy) {
            pieces.push(&piece);
        }
        let kept = pieces.finish();
        assert_eq!(bytes_cut(&kept), long.len() - 21, "{kept}");
        let mut short = LongText::new(21);
        short.push("short");
        assert_eq!(short.finish(), "short");
    }
}
