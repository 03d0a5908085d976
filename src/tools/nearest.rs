//! Finds the known name that is closest to a misspelled name.

/// Maximum length, in bytes, of a misspelled name for which [`nearest`] returns a known name.
const NAME_MAX: usize = 200;

/// Returns the name in `there` that is closest to `name`. Returns `None` if the similarity of every name (Jaro-Winkler,
/// from 0 to 1) is at most 0.75, or if `name` is longer than `NAME_MAX`.
pub fn nearest<'a>(name: &str, there: &[&'a str]) -> Option<&'a str> {
    if name.len() > NAME_MAX {
        return None;
    }
    there
        .iter()
        .map(|known| (strsim::jaro_winkler(name, known), *known))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(alike, _)| *alike > 0.75)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn long_names_are_not_compared() {
        assert_eq!(nearest("bsh", &["bash"]), Some("bash"));
        let long = format!("bash{}", " ".repeat(NAME_MAX));
        assert_eq!(nearest(&long, &["bash"]), None);
    }
}
