//! Escape sequences of the kitty graphics protocol (<https://sw.kovidgoyal.net/kitty/graphics-protocol/>). They contain
//! only numbers and base64, never a name or a path.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::PictureSize;

/// Maximum number of base64 characters in one escape sequence, as the protocol defines it.
const CHUNK: usize = 4096;
/// The character that marks a cell in which the terminal draws a part of an image.
const PLACEHOLDER: char = '\u{10EEEE}';
/// The combining characters that stand for the numbers of rows and columns, counted from 0. The protocol defines more;
/// a picture needs no more than [`COLUMNS_MAX`](super::size::COLUMNS_MAX).
const NUMBERS: [char; 48] = [
    '\u{305}', '\u{30D}', '\u{30E}', '\u{310}', '\u{312}', '\u{33D}', '\u{33E}', '\u{33F}',
    '\u{346}', '\u{34A}', '\u{34B}', '\u{34C}', '\u{350}', '\u{351}', '\u{352}', '\u{357}',
    '\u{35B}', '\u{363}', '\u{364}', '\u{365}', '\u{366}', '\u{367}', '\u{368}', '\u{369}',
    '\u{36A}', '\u{36B}', '\u{36C}', '\u{36D}', '\u{36E}', '\u{36F}', '\u{483}', '\u{484}',
    '\u{485}', '\u{486}', '\u{487}', '\u{592}', '\u{593}', '\u{594}', '\u{595}', '\u{597}',
    '\u{598}', '\u{599}', '\u{59C}', '\u{59D}', '\u{59E}', '\u{59F}', '\u{5A0}', '\u{5A1}',
];

/// Returns the text of the cell that shows the part of an image at `row` and `column`, both counted from 0; `None` if
/// `row` or `column` is 48 or more.
pub fn placeholder(row: u16, column: u16) -> Option<String> {
    let row = NUMBERS.get(usize::from(row))?;
    let column = NUMBERS.get(usize::from(column))?;
    Some(String::from_iter([PLACEHOLDER, *row, *column]))
}

/// Returns the sequences that send a PNG image to the terminal, which stores it under `id` and sends no reply. The
/// image is not visible yet: the terminal draws it, scaled to `size`, in the cells that contain the text of
/// [`placeholder`].
pub fn transmit(id: u32, size: PictureSize, png: &[u8]) -> String {
    let PictureSize { columns, rows } = size;
    let data = STANDARD.encode(png);
    let mut out = String::with_capacity(data.len() + data.len() / CHUNK * 16 + 64);
    let mut start = 0;
    while start < data.len() {
        let end = data.len().min(start + CHUNK);
        let more = u8::from(end < data.len());
        out.push_str("\u{1b}_G");
        if start == 0 {
            out.push_str(&format!("a=T,U=1,i={id},c={columns},r={rows},f=100,"));
        }
        out.push_str(&format!("q=2,m={more};{}\u{1b}\\", &data[start..end]));
        start = end;
    }
    out
}

/// Returns the sequence that removes an image from the terminal's memory.
pub fn remove(id: u32) -> String {
    format!("\u{1b}_Ga=d,d=I,i={id},q=2\u{1b}\\")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const SIZE: PictureSize = PictureSize {
        columns: 9,
        rows: 4,
    };

    /// Returns the control data and the payload of each sequence.
    fn parts(sequences: &str) -> Vec<(&str, &str)> {
        let all = sequences.strip_suffix("\u{1b}\\").unwrap();
        let part = |one| str::strip_prefix(one, "\u{1b}_G")?.split_once(';');
        all.split("\u{1b}\\")
            .map(|one| part(one).unwrap())
            .collect()
    }

    #[test]
    fn images_are_sent_in_chunks() {
        let head = "a=T,U=1,i=7,c=9,r=4,f=100,q=2";
        for (bytes, chunks) in [(1, 1), (3072, 1), (3073, 2), (9000, 3)] {
            let png: Vec<u8> = (0..=255).cycle().take(bytes).collect();
            let sent = transmit(7, SIZE, &png);
            let parts = parts(&sent);
            assert_eq!(parts.len(), chunks);
            for (at, (control, data)) in parts.iter().enumerate() {
                let more = u8::from(at + 1 < chunks);
                let expected = if at == 0 { head } else { "q=2" };
                assert_eq!(*control, format!("{expected},m={more}"));
                assert!(data.len() == CHUNK || (more == 0 && data.len() < CHUNK));
            }
            let data: String = parts.iter().map(|(_, data)| *data).collect();
            assert_eq!(STANDARD.decode(data).unwrap(), png);
        }
    }

    #[test]
    fn removal_names_the_image_only() {
        assert_eq!(remove(65_793), "\u{1b}_Ga=d,d=I,i=65793,q=2\u{1b}\\");
    }

    #[test]
    fn each_row_and_column_has_its_own_placeholder() {
        let mut all: Vec<String> = Vec::new();
        for row in 0..12 {
            all.extend((0..super::super::size::COLUMNS_MAX).map(|column| {
                let text = placeholder(row, column).unwrap();
                assert_eq!(crate::ui::text::width(&text), 1);
                text
            }));
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        assert_eq!(placeholder(0, 48), None);
    }
}
