//! Reads a text file up to the limits of `read_file`.

use std::io::Read;
use std::path::Path;

use super::content::{Content, bytes, explain};
use crate::store::regular_file;

/// Maximum number of bytes of a file's content that are attached.
const TEXT_MAX: usize = 50_000;
const LINES_MAX: usize = 2000;
/// Maximum number of bytes that are read from a file to count its lines. For a larger file, the attached text says
/// "more than" before the number of lines.
const READ_MAX: u64 = 64 * 1024 * 1024;
/// Number of bytes at the start of a file that are searched for a zero byte. As in git, a file with a zero byte in this
/// part counts as binary.
const PROBE: usize = 8000;

/// Reads the text file at `at`, which has `size` bytes. If the file is longer than [`LINES_MAX`] lines or [`TEXT_MAX`]
/// bytes, returns its first lines after a line such as `(first 2000 of 3500 lines)`. Invalid UTF-8 becomes `�`.
///
/// # Errors
/// Returns the reason if the file cannot be read or is binary.
pub fn read(at: &Path, size: u64) -> Result<Content, String> {
    let mut raw = Vec::new();
    let file = regular_file::open(at).map_err(|e| explain(&e))?;
    file.take(READ_MAX)
        .read_to_end(&mut raw)
        .map_err(|e| explain(&e))?;
    if raw[..raw.len().min(PROBE)].contains(&0) {
        return Err(format!("it is a binary file of {}", bytes(size)));
    }
    Ok(of(&raw, size))
}

/// Returns a text of `size` bytes as content to attach. `raw` is the start of the text, at most [`READ_MAX`] bytes.
pub fn of(raw: &[u8], size: u64) -> Content {
    let text = String::from_utf8_lossy(raw);
    let total = text.lines().count();
    let (kept, lines) = first_lines(&text);
    let is_whole = size <= READ_MAX && kept.len() + 1 >= text.trim_end_matches('\n').len();
    let more = if size > READ_MAX { "more than " } else { "" };
    let of = match (is_whole && lines == total, lines) {
        (true, 1) => "1 line".into(),
        (true, n) => format!("{n} lines"),
        (false, 1) if total == 1 => format!(
            "first {} of 1 line of {}",
            bytes(kept.len() as u64),
            bytes(size)
        ),
        (false, n) => format!("first {n} of {more}{total} lines"),
    };
    let mut out = String::with_capacity(kept.len() + 64);
    if of.starts_with("first") {
        out.push_str(&format!("({of})\n"));
    }
    out.push_str(kept);
    Content {
        bytes: out.into_bytes(),
        size: of,
        image: None,
    }
}

/// Returns the first lines of `text`, and their number: at most [`LINES_MAX`] lines that together have at most
/// [`TEXT_MAX`] bytes. A first line that alone has more than [`TEXT_MAX`] bytes is cut.
fn first_lines(text: &str) -> (&str, usize) {
    let mut end = 0;
    let mut lines = 0;
    for line in text.split_inclusive('\n').take(LINES_MAX) {
        if end + line.len() > TEXT_MAX {
            break;
        }
        end += line.len();
        lines += 1;
    }
    if lines == 0 && !text.is_empty() {
        return (&text[..text.floor_char_boundary(TEXT_MAX)], 1);
    }
    (text[..end].trim_end_matches('\n'), lines)
}
