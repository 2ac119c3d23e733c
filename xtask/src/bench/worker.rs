//! A process that times its cases on request, one line per request and answer; the protocol is
//! described in `bench/worker.py`.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};

/// Lines of a worker's own messages that a report of its end repeats.
const LAST_LINES: usize = 12;

/// One side of the comparison.
pub struct Worker {
    side: &'static str,
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Passes the worker's messages on while it runs; what comes out are the last of them.
    messages: Option<JoinHandle<VecDeque<String>>>,
    cases: Vec<String>,
}

impl Worker {
    /// Starts the process and waits until it says what it can time.
    pub fn start(side: &'static str, command: &mut Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting the worker of {side}"))?;
        let requests = process.stdin.take();
        let answers = process
            .stdout
            .take()
            .context("a worker without standard output")?;
        let answers = BufReader::new(answers);
        let errors = process.stderr.take();
        let messages = errors.map(|errors| std::thread::spawn(move || pass_on(errors)));
        let mut worker = Self {
            side,
            process,
            requests,
            answers,
            messages,
            cases: Vec::new(),
        };
        let first = worker.answer()?;
        worker.cases = after(&first, "cases")?
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        Ok(worker)
    }

    /// Prepares a case, which may take long where something is compiled.
    pub fn warm(&mut self, case: &str) -> Result<()> {
        if !self.cases.iter().any(|known| known == case) {
            bail!(
                "{} cannot time {case}, only {}",
                self.side,
                self.cases.join(", ")
            );
        }
        self.ask(&format!("warm {case}"), "ok").map(|_| ())
    }

    /// The seconds of one call, averaged over one repetition.
    pub fn run(&mut self, case: &str) -> Result<f64> {
        self.ask_number(&format!("run {case} 1"), "seconds")
    }

    /// The floating-point operations of one call.
    pub fn flops(&mut self, case: &str) -> Result<f64> {
        self.ask_number(&format!("flops {case}"), "flops")
    }

    /// The projection of one point.
    pub fn project(&mut self, point: [f64; 2]) -> Result<Vec<f64>> {
        let text = self.ask(&format!("project {} {}", point[0], point[1]), "point")?;
        text.split_whitespace()
            .map(|value| Ok(value.parse()?))
            .collect()
    }

    fn ask_number(&mut self, request: &str, kind: &str) -> Result<f64> {
        let text = self.ask(request, kind)?;
        match text.trim().parse() {
            Ok(number) if f64::is_finite(number) && number > 0.0 => Ok(number),
            _ => bail!("{} answered `{request}` with {text:?}", self.side),
        }
    }

    fn ask(&mut self, request: &str, kind: &str) -> Result<String> {
        let requests = self.requests.as_mut().context("the worker was stopped")?;
        writeln!(requests, "{request}")
            .with_context(|| format!("the worker of {} is gone", self.side))?;
        let answer = self.answer()?;
        let text =
            after(&answer, kind).with_context(|| format!("{}, asked to {request}", self.side))?;
        Ok(text.to_owned())
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!(self.obituary());
        }
        Ok(line)
    }

    /// How it ended, and what it said last.
    fn obituary(&mut self) -> String {
        let end = match self.process.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let messages = self.messages.take().and_then(|thread| thread.join().ok());
        let messages: Vec<String> = messages.unwrap_or_default().into();
        let said = match messages.is_empty() {
            true => "it said nothing".to_owned(),
            false => format!("it said last:\n{}", messages.join("\n")),
        };
        let side = self.side;
        format!("the worker of {side} ended without an answer ({end}); {said}")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends the process.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}

/// Shows messages as they come; returns the last of them.
fn pass_on(messages: impl Read) -> VecDeque<String> {
    let mut last = VecDeque::new();
    for line in BufReader::new(messages).lines().map_while(Result::ok) {
        eprintln!("{line}");
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        last.push_back(line);
    }
    last
}

/// What follows the first word of an answer, which must be `kind`.
fn after<'a>(answer: &'a str, kind: &str) -> Result<&'a str> {
    match answer.trim().split_once(' ').unwrap_or((answer.trim(), "")) {
        (word, text) if word == kind => Ok(text),
        ("error", text) => bail!("{text}"),
        _ => bail!("unexpected answer {answer:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        assert_eq!(after("seconds 1e-3\n", "seconds").unwrap(), "1e-3");
        assert_eq!(after("ok\n", "ok").unwrap(), "");
        assert_eq!(
            after("error no such case\n", "ok").unwrap_err().to_string(),
            "no such case"
        );
        assert!(after("okay\n", "ok").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_worker_is_asked_and_answers() {
        let script = "echo cases fast slow; while read verb name rest; do case $verb in \
                      warm) echo ok;; run) echo seconds 0.5;; *) echo error what;; esac; done";
        let mut worker =
            Worker::start("the shell", Command::new("sh").args(["-c", script])).unwrap();
        worker.warm("fast").unwrap();
        assert_eq!(worker.run("fast").unwrap(), 0.5);
        let unknown = worker.warm("other").unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "the shell cannot time other, only fast, slow"
        );
        let refused = format!("{:#}", worker.flops("fast").unwrap_err());
        assert_eq!(refused, "the shell, asked to flops fast: what");
    }

    #[cfg(unix)]
    #[test]
    fn a_worker_that_dies_is_reported() {
        let report = |script: &str| {
            let started = Worker::start("nobody", Command::new("sh").args(["-c", script]));
            started.err().unwrap().to_string()
        };
        assert_eq!(
            report("echo first >&2; echo out of luck >&2; exit 3"),
            "the worker of nobody ended without an answer (exit status: 3); it said last:\n\
             first\nout of luck"
        );
        assert!(report("kill -9 $$").contains("signal: 9"));
        assert!(report("kill -9 $$").ends_with("it said nothing"));
    }
}
