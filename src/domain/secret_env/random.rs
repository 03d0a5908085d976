//! Distinguishes random text from names, paths, versions and flags.

use super::words::words;

/// Maximum length of a value that is checked, in bytes. A longer value counts as not random, because keys are shorter.
const VALUE_MAX: usize = 1024;
/// For a key of uppercase letters, lowercase letters and digits: its minimum length, in characters. Separators in the
/// key are not counted.
const MIXED_MIN: usize = 20;
/// For a key of digits and letters of one case: the minimum length, in characters, of its longest part without
/// separators.
const PLAIN_MIN: usize = 24;
/// For a key of digits and letters of one case: its minimum number of groups of consecutive digits. A name with a
/// version or a year has only one or two groups.
const PLAIN_GROUPS: usize = 4;
/// For a hexadecimal key with letters of one case: the minimum length, in characters, of its longest part without
/// separators.
const HEX_MIN: usize = 32;
/// For a key of uppercase letters, lowercase letters and digits: of its pairs of adjacent characters, the minimum share
/// (0 to 1) whose two characters are of different kinds. Random text has 0.62, names with versions have up to 0.43.
const CHANGES_MIN: f64 = 0.45;
/// Minimum entropy of a key, in bits per character.
const ENTROPY_MIN: f64 = 3.2;

/// Words in names of variables whose values are random but not secret.
const NAMES: &[&str] = &[
    "ID",
    "UUID",
    "GUID",
    "SHA",
    "SHA1",
    "SHA256",
    "SHA512",
    "MD5",
    "HASH",
    "DIGEST",
    "CHECKSUM",
    "COMMIT",
    "REV",
    "REVISION",
    "REF",
    "VERSION",
    "FINGERPRINT",
    "PUBLIC",
    "PATH",
];

/// Returns whether the name indicates a value that is random but not secret.
pub fn is_random_name(name: &str) -> bool {
    words(name)
        .iter()
        .any(|word| NAMES.contains(&word.as_str()))
}

/// Returns whether the value contains a piece that looks like a random key: long enough, with digits and letters mixed.
/// Pieces are separated by blanks, quotes, brackets and `:;,|<>`. Of a piece `NAME=VALUE`, only the value is checked. A
/// piece that is a path or UUID never counts as random, and neither does a `value` of more than 1024 bytes.
pub fn is_random(value: &str) -> bool {
    let value = value.trim();
    if value.len() > VALUE_MAX {
        return false;
    }
    let is_separator = |c: char| c.is_whitespace() || ":;,'\"()[]{}<>|".contains(c);
    value.split(is_separator).any(|piece| {
        // Check only the value in `NAME=value` and `--option=value`.
        let piece = match piece.split_once('=') {
            Some((_, after)) if !after.trim_matches('=').is_empty() => after,
            Some(_) | None => piece,
        };
        !is_path(piece) && !is_uuid(piece) && is_random_piece(piece)
    })
}

fn is_path(piece: &str) -> bool {
    ["/", "./", "../", "~"]
        .iter()
        .any(|start| piece.starts_with(start))
}

fn is_uuid(piece: &str) -> bool {
    let parts: Vec<&str> = piece.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_hex = |part: &&str| part.chars().all(|c| c.is_ascii_hexdigit());
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(is_hex)
}

fn is_random_piece(piece: &str) -> bool {
    // Ignore the separators that occur in base64 and in dotted tokens.
    let text: Vec<u8> = piece.bytes().filter(|b| !b"+/=_-.~".contains(b)).collect();
    if !text.iter().all(u8::is_ascii_alphanumeric) {
        return false;
    }
    let kind = |byte: &u8| match byte {
        b'A'..=b'Z' => 0,
        b'a'..=b'z' => 1,
        _ => 2,
    };
    let has = |wanted: i32| text.iter().any(|b| kind(b) == wanted);
    let groups = text
        .split(|b| !b.is_ascii_digit())
        .filter(|group| !group.is_empty())
        .count();
    if !has(2) || entropy(&text) < ENTROPY_MIN {
        return false;
    }
    let longest_run = piece
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(str::len)
        .max()
        .unwrap_or(0);
    let is_hex = text.iter().all(u8::is_ascii_hexdigit);
    match (has(0), has(1)) {
        (true, true) => {
            text.len() >= MIXED_MIN && groups >= 2 && changes(&text, kind) >= CHANGES_MIN
        }
        (true, false) | (false, true) if is_hex => longest_run >= HEX_MIN,
        (true, false) | (false, true) => longest_run >= PLAIN_MIN && groups >= PLAIN_GROUPS,
        (false, false) => false,
    }
}

/// Returns the share (0 to 1) of pairs of adjacent characters whose two characters are of different kinds.
fn changes(text: &[u8], kind: impl Fn(&u8) -> i32) -> f64 {
    let pairs = text.windows(2);
    let all = pairs.len().max(1);
    let changed = pairs
        .filter(|pair| pair.first().map(&kind) != pair.last().map(&kind))
        .count();
    share(changed, all)
}

/// Returns the entropy in bits per character, from the frequency of each character.
fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0usize; 256];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| share(*count, text.len()))
        .map(|p| -p * p.log2())
        .sum()
}

fn share(part: usize, all: usize) -> f64 {
    let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    number(part) / number(all)
}
