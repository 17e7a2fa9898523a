//! `NaN`, `Infinity` and `-Infinity`, which Python writes and JSON does not have.

use rustc_hash::FxHashMap;

/// The numbers that stand in a text as strings of the same length, by the places of those.
pub(super) type Bare = FxHashMap<usize, f64>;

const TOKENS: [(&str, f64); 3] = [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// The text with a string in the place of each, so that every place stays what it was. None if there
/// are none.
pub(super) fn replace(text: &str) -> Option<(String, Bare)> {
    let mut bare = Bare::default();
    let mut replaced = String::new();
    let mut done = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'N' | b'I' | b'-' => {
                let rest = text.get(at..)?;
                let Some((token, value)) = TOKENS.into_iter().find(|(token, _)| rest.starts_with(token)) else {
                    at += 1;
                    continue;
                };
                replaced.push_str(text.get(done..at)?);
                replaced.push('"');
                bare.insert(at + 1, value);
                replaced.push_str(token.get(2..)?);
                replaced.push('"');
                at += token.len();
                done = at;
            }
            _ => at += 1,
        }
    }
    if bare.is_empty() {
        return None;
    }
    replaced.push_str(text.get(done..)?);
    Some((replaced, bare))
}

/// Behind the closing quote of the string that begins at `start`, or the end of the text.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_string_is_replaced() {
        let text = r#"[NaN,"NaN \" Infinity",-Infinity,-1,Infinity]"#;
        let (replaced, bare) = replace(text).unwrap();
        assert_eq!(replaced, r#"["N","NaN \" Infinity","nfinity",-1,"finity"]"#);
        assert_eq!(replaced.len(), text.len());
        let mut places: Vec<_> = bare.iter().map(|(at, value)| (*at, value.to_string())).collect();
        places.sort();
        assert_eq!(places, [(2, "NaN".into()), (24, "-inf".into()), (37, "inf".into())]);
        assert!(replace(r#"["NaN", -1, "\\"]"#).is_none());
        assert!(replace("\"\\").is_none());
    }
}
