//! Marks of redacted secrets in what a model writes: they must not take the place of the secrets themselves.

use crate::domain::redact::{MARK, Redactor};

/// Why `after` must not replace `before`: the model saw a mark in place of a secret and would write the mark.
pub fn destroys(redactor: &Redactor, before: &str, after: &str) -> Option<String> {
    let marks = |text: &str| text.matches(MARK).count();
    (redactor.finds(before) && marks(after) > marks(before)).then(|| {
        format!(
            "the text has a mark ({MARK}…]) where the file has a secret that is not shown to you, and would overwrite it: change only the lines around it with edit_file"
        )
    })
}

/// What to add where a text with a mark is not found in the file.
pub fn hint(redactor: &Redactor, before: &str, wanted: &str) -> String {
    if wanted.contains(MARK) && redactor.finds(before) {
        return format!(
            ". The file has a secret there that is shown to you as {MARK}…]: leave that line out of old_text"
        );
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_does_not_take_the_place_of_a_secret() {
        let secret = [("MY_TOKEN".to_string(), "s3cr3t-value".to_string())];
        let redactor = Redactor::new(secret);
        let before = "TOKEN=s3cr3t-value\nPORT=1\n";
        let seen = redactor.text(before).into_owned();
        let refused = |before: &str, after: &str| destroys(&redactor, before, after).is_some();
        assert!(refused(before, &seen.replace("PORT=1", "PORT=2")));
        assert!(!refused(before, "TOKEN=s3cr3t-value\nPORT=2\n"));
        assert!(!refused(before, "nothing of it\n"));
        assert!(!refused(
            "a text about [redacted: X]",
            "another about [redacted: X] [redacted: Y]"
        ));
        assert!(hint(&redactor, before, &seen).contains("leave that line out"));
        assert_eq!(hint(&redactor, before, "PORT=3"), "");
    }
}
