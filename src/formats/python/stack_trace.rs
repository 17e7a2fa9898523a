//! Where a node comes from: torch's `stack_trace`, and the one line that printed code tells of it.

/// A stack trace in which no frame is told; its comment is empty.
pub(super) const UNREADABLE: &str = "\n";

/// Appends what a comment says of a stack trace: its innermost frame.
pub(super) fn write_summary(out: &mut String, trace: &str) {
    if let Some((file, line, function, code)) = innermost(trace) {
        for part in ["File: ", file, ":", line, " in ", function, ", code: ", code] {
            out.push_str(part);
        }
    }
}

/// The stack trace that a comment tells of, without its `#`; None when it is another comment.
pub(super) fn from_summary(comment: &str) -> Option<String> {
    let rest = comment.strip_prefix("File: ")?;
    let (place, code) = rest.split_once(", code: ")?;
    let (place, function) = place.rsplit_once(" in ")?;
    let (file, line) = place.rsplit_once(':')?;
    let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| ["  File \"", file, "\", line ", line, ", in ", function, "\n    ", code].concat())
}

/// File, line, function and code of the last frame that has all of them.
fn innermost(trace: &str) -> Option<(&str, &str, &str, &str)> {
    let mut code = None;
    for line in trace.trim().lines().rev() {
        let line = line.trim();
        if let (Some((file, number, function)), Some(code)) = (frame(line), code) {
            return Some((file, number, function, code));
        }
        code = Some(line);
    }
    None
}

/// `File "F", line L, in f`
fn frame(line: &str) -> Option<(&str, &str, &str)> {
    let rest = line.strip_prefix("File \"")?;
    let (rest, function) = rest.rsplit_once(", in ")?;
    let (file, number) = rest.rsplit_once("\", line ")?;
    (!function.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some((file, number, function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_comes_back() {
        for comment in [
            "File: /home/user/a b.py:63 in forward, code: return torch.cond(x.sum()>0,lambda x:x.sin(),(x,))",
            "File: <eval_with_key>.42:9 in forward, code: cond = f(x);  x = None",
        ] {
            let trace = from_summary(comment).unwrap();
            let mut summary = String::new();
            write_summary(&mut summary, &trace);
            assert_eq!(summary, comment);
        }
        assert_eq!(from_summary("No stacktrace found for following nodes"), None);
        let mut summary = String::new();
        write_summary(
            &mut summary,
            "Traceback:\n  File \"a.py\", line 1, in f\n    g()\n  File \"b.py\", line 22, in g\n    x + 1\n",
        );
        assert_eq!(summary, "File: b.py:22 in g, code: x + 1");
    }
}
