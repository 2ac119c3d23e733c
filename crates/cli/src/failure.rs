//! Error messages and exit codes.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use fabproj::support::is_obeyed;

/// Wrong usage: exit code 2.
#[derive(Debug)]
pub struct WrongUsage(pub String);

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// An error of wrong usage.
pub fn wrong_usage(message: impl ToString) -> anyhow::Error {
    WrongUsage(message.to_string()).into()
}

/// An error for something that this build leaves out.
pub fn missing_feature(what: impl std::fmt::Display) -> anyhow::Error {
    wrong_usage(format!(
        "{what} are not in this build; `cargo install --path crates/cli --all-features` adds them"
    ))
}

/// Prints what is wrong with the words of a command, or the help that they ask for, and gives the exit code.
pub fn misread(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let strange = |word: &OsString| {
        let word = word.to_string_lossy();
        word.len() > LONGEST || word.chars().any(is_obeyed)
    };
    if words.iter().any(strange) {
        // Without colours: they cannot be told from what was typed.
        eprintln!("{}", cut(error.render().to_string()));
    } else {
        // Nothing can be said where it cannot be printed.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Prints an error and gives the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // The reader has closed the pipe: `fabproj sets | head -1`.
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {}", cut(message(error)));
    if error.downcast_ref::<WrongUsage>().is_some() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        let csv = cause.downcast_ref::<csv::Error>().map(csv::Error::kind);
        let inner = match csv {
            Some(csv::ErrorKind::Io(inner)) => Some(inner),
            _ => io,
        };
        inner.is_some_and(|inner| inner.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Characters of a message, at most.
const LONGEST: usize = 2000;

fn cut(message: String) -> String {
    match message.char_indices().nth(LONGEST) {
        None => message,
        Some((end, _)) => format!("{}… (cut)", &message[..end]),
    }
}

/// The error with its causes, each said once: typed errors already quote theirs.
pub fn message(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn causes_are_said_once() {
        let error = Err::<(), _>(anyhow::anyhow!("disk full"))
            .context("cannot write a.csv: disk full")
            .context("step 2")
            .unwrap_err();
        assert_eq!(message(&error), "step 2: cannot write a.csv: disk full");
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(cut("short".to_owned()), "short");
        assert!(cut("é".repeat(5_000_000)).len() < 2 * LONGEST + 20);
    }
}
