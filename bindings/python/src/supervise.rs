//! Long work beside the interpreter.
//!
//! The work runs in threads of its own, which never touch Python. The calling thread waits, passes on signals,
//! tells the progress and answers the questions that the work has for a callable. So Ctrl-C also ends a callable
//! that hangs, callables need not be thread-safe, and a process that was forked can train.

use std::any::Any;
use std::hint::spin_loop;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel,
};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use fabproj::set::{Calibration, Description, Equation, Learned, Set};
use fabproj::{Event, Membership};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::membership::{Contains, Raised, wait_for_the_end};
use crate::problem::{Callables, What};
use crate::source::Region;

/// How often signals are looked for.
const PULSE: Duration = Duration::from_millis(40);
/// How long a stopped training may take to save its checkpoint, before it is ended at its next question. Both
/// together stay below half a second.
const GRACE: Duration = Duration::from_millis(300);

/// How long either thread looks for the other's message before it sleeps. Trainings ask point by point for long
/// stretches, and waking a thread of an idle machine takes longer than an answer. On a busy machine a thread that
/// yields while it looks waits for others' turns: three times as long in all. With one processor looking is in vain.
static LOOK: LazyLock<Duration> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    Duration::from_micros(if processors > 1 { 100 } else { 0 })
});

/// What the work tells the thread that waits for it.
enum Message {
    Question(Question),
    Event(Vec<(&'static str, Field)>),
}

struct Question {
    y: Vec<f64>,
    x: Vec<f64>,
    rows: usize,
    reply: Reply,
}

/// What is asked, and where the answer goes.
enum Reply {
    Contains(SyncSender<Vec<bool>>),
    Numbers(What, SyncSender<Vec<f64>>),
}

/// A value of an event.
pub enum Field {
    Text(String),
    Number(f64),
}

/// What the work sees of the outside.
#[derive(Clone)]
pub struct Outside {
    /// Set once the work should save its state and end.
    pub stop: Arc<AtomicBool>,
    /// Set once it should end at once.
    abort: Arc<AtomicBool>,
    messages: Sender<Message>,
}

/// Unwinds from work that must end at once.
struct Abandoned;

/// What answers for callables and hears events.
#[derive(Default)]
pub struct Inside<'a> {
    pub contains: Option<&'a Contains>,
    pub problem: Option<&'a Callables>,
    pub progress: Option<&'a Py<PyAny>>,
    pub threads: Option<usize>,
}

/// Runs `work` and waits for it. An exception of the callable or of the progress, and Ctrl-C, end it.
pub fn run<R: Send>(
    py: Python<'_>,
    inside: &Inside<'_>,
    work: impl FnOnce(&Outside) -> R + Send,
) -> PyResult<R> {
    // A pool of its own: the threads of a shared one would not survive a fork.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(inside.threads.unwrap_or(0));
    let pool = pool.build().map_err(|error| {
        PyRuntimeError::new_err(format!("cannot start the threads of the training: {error}"))
    })?;
    let (stop, abort) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
    let (messages, received) = channel();
    let supervisor = Supervisor {
        inside,
        stop: stop.clone(),
        abort: abort.clone(),
        failure: None,
        stopped: None,
    };
    let outside = Outside {
        stop,
        abort,
        messages,
    };
    py.detach(move || {
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                // Moved here: the channel closes when the work is done.
                let outside = outside;
                catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&outside))))
            });
            let failure = supervisor.watch(&received);
            let result = worker.join().unwrap_or_else(Err);
            finish(result, failure)
        })
    })
}

/// A message that arrives within [`LOOK`].
fn soon<T>(received: &Receiver<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        match received.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Empty) if began.elapsed() < *LOOK => spin_loop(),
            Err(_) => return None,
        }
    }
}

fn finish<R>(result: Result<R, Box<dyn Any + Send>>, failure: Option<PyErr>) -> PyResult<R> {
    if let Some(failure) = failure {
        return Err(failure);
    }
    result.map_err(|payload| match payload.downcast::<Raised>() {
        Ok(raised) => raised.0,
        Err(payload) => errors::panicked(&*payload),
    })
}

struct Supervisor<'a> {
    inside: &'a Inside<'a>,
    stop: Arc<AtomicBool>,
    abort: Arc<AtomicBool>,
    /// What will be raised.
    failure: Option<PyErr>,
    /// When the work was told to stop.
    stopped: Option<Instant>,
}

impl Supervisor<'_> {
    /// Serves until the work is done.
    fn watch(mut self, received: &Receiver<Message>) -> Option<PyErr> {
        let mut looked = Instant::now();
        loop {
            match soon(received).map_or_else(|| received.recv_timeout(PULSE), Ok) {
                Ok(message) => self.serve(message),
                Err(RecvTimeoutError::Disconnected) => return self.failure,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if looked.elapsed() >= PULSE {
                looked = Instant::now();
                self.pulse();
            }
        }
    }

    fn pulse(&mut self) {
        if let Err(error) = self.attached(|py| py.check_signals()) {
            self.fail(error, false);
        }
        if self.stopped.is_some_and(|since| since.elapsed() > GRACE) {
            self.abort.store(true, Ordering::Relaxed);
        }
    }

    fn serve(&mut self, message: Message) {
        match message {
            Message::Question(question) => self.answer(question),
            Message::Event(fields) => {
                let Some(progress) = self.inside.progress else {
                    return;
                };
                if let Err(error) = self.attached(|py| tell(py, progress, fields)) {
                    self.fail(error, true);
                }
            }
        }
    }

    /// Answers a question; a question without an answer ends the work.
    fn answer(&mut self, question: Question) {
        let Question { y, x, rows, reply } = question;
        if self.abort.load(Ordering::Relaxed) {
            return;
        }
        // Who has asked may be gone.
        let answered = match (reply, self.inside.contains, self.inside.problem) {
            (Reply::Contains(reply), Some(contains), _) => self
                .attached(|py| contains.ask(py, &y, &x, rows))
                .map(|answers| drop(reply.send(answers))),
            (Reply::Numbers(what, reply), _, Some(problem)) => self
                .attached(|py| problem.ask(py, what, &y, &x, rows))
                .map(|answers| drop(reply.send(answers))),
            _ => return,
        };
        if let Err(error) = answered {
            self.fail(error, true);
        }
    }

    /// Keeps the first failure and ends the work, `at_once` or after it has saved its state.
    fn fail(&mut self, error: PyErr, at_once: bool) {
        self.failure.get_or_insert(error);
        self.stopped.get_or_insert_with(Instant::now);
        self.stop.store(true, Ordering::Relaxed);
        self.abort.fetch_or(at_once, Ordering::Relaxed);
    }

    /// Runs something in Python. Where the interpreter is shutting down, the work is stopped, and this thread
    /// waits for the end of the process.
    fn attached<R>(&self, run: impl FnOnce(Python<'_>) -> R) -> R {
        Python::try_attach(run).unwrap_or_else(|| {
            self.stop.store(true, Ordering::Relaxed);
            self.abort.store(true, Ordering::Relaxed);
            wait_for_the_end()
        })
    }
}

fn tell(py: Python<'_>, progress: &Py<PyAny>, fields: Vec<(&'static str, Field)>) -> PyResult<()> {
    let event = PyDict::new(py);
    for (name, field) in fields {
        match field {
            Field::Text(text) => event.set_item(name, text)?,
            Field::Number(number) => event.set_item(name, number)?,
        }
    }
    progress.call1(py, (event,)).map(drop)
}

impl Outside {
    /// Ends work that was told to end at once.
    pub fn check(&self) {
        if self.abort.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Abandoned));
        }
    }

    fn contains(&self, y: &[f64], x: &[f64], rows: usize) -> Vec<bool> {
        self.ask(y, x, rows, Reply::Contains)
    }

    /// Values or derivatives of a problem's callables.
    pub fn numbers(&self, what: What, y: &[f64], x: &[f64], rows: usize) -> Vec<f64> {
        self.ask(y, x, rows, |reply| Reply::Numbers(what, reply))
    }

    /// Sends an event of the training.
    pub fn tell(&self, event: &Event) {
        let text = |text: &str| Field::Text(text.to_owned());
        let fields = match event {
            Event::Stage { name } => vec![("event", text("stage")), ("name", text(name))],
            Event::Progress {
                unit,
                step,
                steps,
                done,
                ..
            } => vec![
                ("event", text("progress")),
                ("unit", text(unit)),
                ("step", Field::Number(*step as f64)),
                ("steps", Field::Number(*steps as f64)),
                ("done", Field::Number(*done)),
            ],
            Event::Measured { candidate, figures } => {
                let mut fields = vec![("event", text("measured")), ("candidate", text(candidate))];
                fields.extend(
                    figures
                        .iter()
                        .map(|(name, figure)| (*name, Field::Number(*figure))),
                );
                fields
            }
            Event::Warning { message } => {
                vec![("event", text("warning")), ("message", text(message))]
            }
            _ => return,
        };
        // Nobody listens once the work was abandoned.
        let _ = self.messages.send(Message::Event(fields));
    }

    fn ask<T>(
        &self,
        y: &[f64],
        x: &[f64],
        rows: usize,
        reply: impl FnOnce(SyncSender<Vec<T>>) -> Reply,
    ) -> Vec<T> {
        let (sender, answer) = sync_channel(1);
        let (y, x, reply) = (y.to_vec(), x.to_vec(), reply(sender));
        let question = Message::Question(Question { y, x, rows, reply });
        let sent = self.messages.send(question);
        let answered = || soon(&answer).or_else(|| answer.recv().ok());
        match sent.ok().and_then(|()| answered()) {
            Some(answers) => answers,
            None => resume_unwind(Box::new(Abandoned)),
        }
    }
}

/// A known set that can be abandoned at every question.
pub struct Watched<'a, S> {
    pub set: S,
    pub outside: &'a Outside,
}

impl<S: Set> Membership for Watched<'_, S> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.outside.check();
        self.set.contains(y, x)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        self.outside.check();
        self.set.contains_rows(y, x, inside);
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.outside.check();
        self.set.violation(y, x, gradient)
    }
}

impl<S: Set> Set for Watched<'_, S> {
    fn dim(&self) -> usize {
        self.set.dim()
    }

    fn x_dim(&self) -> usize {
        self.set.x_dim()
    }

    fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
        self.set.nearest(y, x, nearest)
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        self.set.bounds()
    }

    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, y: &mut [f64]) {
        self.set.draw_input(x, uniform, y);
    }

    fn x_bounds(&self) -> Vec<(f64, f64)> {
        self.set.x_bounds()
    }

    fn names(&self) -> Vec<String> {
        self.set.names()
    }

    fn x_names(&self) -> Vec<String> {
        self.set.x_names()
    }

    fn constraints(&self) -> Vec<String> {
        self.set.constraints()
    }

    fn violated(&self, y: &[f64], x: &[f64]) -> Vec<String> {
        self.set.violated(y, x)
    }

    fn equations(&self) -> Vec<Equation> {
        self.set.equations()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.set.calibration()
    }

    fn learned(&self) -> Option<&Learned> {
        self.set.learned()
    }

    fn description(&self) -> Description {
        self.set.description()
    }
}

/// The set of a callable, which the waiting thread asks.
pub struct Asked<'a> {
    pub region: Region,
    pub outside: &'a Outside,
}

impl Membership for Asked<'_> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.outside.contains(y, x, 1)[0]
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        inside.copy_from_slice(&self.outside.contains(y, x, inside.len()));
    }
}

impl Set for Asked<'_> {
    fn dim(&self) -> usize {
        self.region.bounds.len()
    }

    fn x_dim(&self) -> usize {
        self.region.x_bounds.len()
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        self.region.bounds.clone()
    }

    fn x_bounds(&self) -> Vec<(f64, f64)> {
        self.region.x_bounds.clone()
    }

    fn names(&self) -> Vec<String> {
        self.region.names.clone()
    }

    fn x_names(&self) -> Vec<String> {
        self.region.x_names.clone()
    }

    fn description(&self) -> Description {
        Description::Closure {
            name: self.region.name.clone(),
        }
    }
}
