//! Parsing of paths in diffs. Pure.

use std::borrow::Cow;

/// Returns the path in `text`, the part of a `---` or `+++` line after the signs and the blank. Decodes a quoted path;
/// removes a timestamp, which follows a tab, and git's `a/` or `b/` prefix.
pub fn path(text: &str) -> Cow<'_, str> {
    if text.starts_with('"') {
        return strip_side_prefix(unquote_path(text));
    }
    strip_side_prefix(
        text.split('\t')
            .next()
            .unwrap_or_default()
            .trim_end()
            .into(),
    )
}

fn strip_side_prefix(path: Cow<'_, str>) -> Cow<'_, str> {
    let is_prefixed = path.starts_with("a/") || path.starts_with("b/");
    match path {
        path if !is_prefixed => path,
        Cow::Borrowed(path) => path[2..].into(),
        Cow::Owned(mut path) => {
            path.drain(..2);
            path.into()
        }
    }
}

/// Returns the path in `a/PATH b/PATH`, the text of a `diff --git` header, without its prefix and with escapes decoded.
/// If the two paths differ, returns the second one, with its escapes not decoded. This is enough, because a later
/// `rename` or `copy` line of the diff names both paths. Returns `text` unchanged if it has no second path.
pub fn git_header_path(text: &str) -> Cow<'_, str> {
    let half = text.len() / 2;
    let halves = (text.get(..half), text.get(half + 1..));
    if let (Some(first), Some(second)) = halves
        && first.get(2..) == second.get(2..)
        && text.as_bytes().get(half) == Some(&b' ')
    {
        return strip_side_prefix(unquote_path(first));
    }
    let second = text.rsplit_once(" \"b/").or(text.rsplit_once(" b/"));
    second.map_or(text.into(), |(_, path)| path.trim_end_matches('"').into())
}

/// Decodes a path in git's format: a path with special characters is in quotes, with octal and backslash escapes.
/// Returns a path without quotes unchanged, except for a trailing carriage return. Bytes that are not UTF-8 become
/// U+FFFD.
pub fn unquote_path(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches('\r');
    let inside = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    let Some(inside) = inside else {
        return text.into();
    };
    let mut out = Vec::with_capacity(inside.len());
    let mut bytes = inside.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for next in bytes
                    .clone()
                    .take(2)
                    .take_while(|b| (b'0'..=b'7').contains(b))
                {
                    value = value * 8 + u32::from(next - b'0');
                    bytes.next();
                }
                out.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b't') => out.push(b'\t'),
            Some(b'n') => out.push(b'\n'),
            Some(b'v') => out.push(11),
            Some(b'f') => out.push(12),
            Some(b'r') => out.push(b'\r'),
            Some(other) => out.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned().into()
}
