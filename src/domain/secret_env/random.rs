//! Tells random text from names, paths, versions and flags.

/// Longest value that is looked at, in bytes: keys are short.
const VALUE_MAX: usize = 1024;
/// Fewest characters of a key that mixes upper-case letters, lower-case letters and digits.
const MIXED_MIN: usize = 20;
/// Fewest characters of one in small letters and digits, or in capital ones and digits.
const PLAIN_MIN: usize = 24;
/// Fewest groups of digits in such a one: versions and years make one or two.
const PLAIN_GROUPS: usize = 4;
/// Fewest characters of one in hexadecimal digits.
const HEX_MIN: usize = 32;
/// The share of neighbours of different kinds (capital, small, digit): 0.62 in random text, up to 0.43 in names with versions.
const CHANGES_MIN: f64 = 0.45;
/// Fewest bits of entropy a character has.
const ENTROPY_MIN: f64 = 3.2;

/// Words of names whose values are random and no secret.
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

/// Whether the name says that its value is random and no secret.
pub fn names_random(name: &str) -> bool {
    super::words(name)
        .iter()
        .any(|word| NAMES.contains(&word.as_str()))
}

/// Whether a value, or a piece of it, is as random as a key. Paths, addresses and UUIDs are not.
pub fn is_random(value: &str) -> bool {
    let value = value.trim();
    if value.len() > VALUE_MAX {
        return false;
    }
    let apart = |c: char| c.is_whitespace() || ":;,'\"()[]{}<>|".contains(c);
    value.split(apart).any(|piece| {
        // `NAME=value` and `--option=value`.
        let piece = match piece.split_once('=') {
            Some((_, behind)) if !behind.trim_matches('=').is_empty() => behind,
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
    // Bytes in base64 have these between the letters.
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

/// The share of neighbours that are of different kinds.
fn changes(text: &[u8], kind: impl Fn(&u8) -> i32) -> f64 {
    let pairs = text.windows(2);
    let all = pairs.len().max(1);
    let changed = pairs
        .filter(|pair| pair.first().map(&kind) != pair.last().map(&kind))
        .count();
    share(changed, all)
}

/// Bits a character, by how often each occurs.
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
