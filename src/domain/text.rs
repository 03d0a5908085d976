//! Text from outside, made harmless and bounded: control characters are shown, cuts say so.

/// Replaces what could drive a terminal by something that can be seen.
///
/// Newlines stay, a tab becomes four spaces, a lone carriage return and every other control character
/// (C0, DEL, C1) becomes its picture or `�`; bidirectional overrides and zero-width characters that
/// could hide or reorder text become `�` too. A carriage return before a newline is dropped.
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
            '\u{7f}' => out.push('\u{2421}'),
            '\u{80}'..='\u{9f}' => out.push('\u{fffd}'),
            '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                out.push('\u{fffd}');
            }
            _ => out.push(c),
        }
    }
    out
}

/// [`harmless`] on one line: newlines become `⏎`, for rows, titles and names.
pub fn one_line(text: &str) -> String {
    harmless(text.trim_end()).replace('\n', "⏎")
}

/// The first `max` characters, with `…` in place of the last one when there are more.
pub fn clip(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.into();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Keeps head and tail of `text` within `max` bytes (and the mark), cut at character borders.
///
/// The mark says how many bytes are missing: whoever reads the text knows that it is not whole.
pub fn head_and_tail(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.into();
    }
    let head = floor_border(text, max / 2);
    let tail = ceil_border(text, text.len() - (max - max / 2));
    format!(
        "{}\n[… {} bytes cut here …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

fn floor_border(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_border(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_shown_and_not_obeyed() {
        assert_eq!(
            harmless("a\u{1b}[2Jb\r\nc\rd\u{9b}x\u{202e}y"),
            "a␛[2Jb\nc␍d�x�y"
        );
        assert_eq!(one_line("two\nlines\n"), "two⏎lines");
    }

    #[test]
    fn cuts_say_so_and_keep_characters_whole() {
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(clip("abc", 4), "abc");
        let long = "é".repeat(100);
        let cut = head_and_tail(&long, 21);
        assert!(cut.contains("bytes cut here"), "{cut}");
        assert!(cut.starts_with("ééééé\n") && cut.ends_with('é'));
        assert_eq!(head_and_tail("short", 21), "short");
    }
}
