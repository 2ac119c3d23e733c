//! Where results go: standard output, a device or a pipe, or a file that appears when it is complete.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fabproj::support::NewFile;

use crate::output::{self, STANDARD};

pub enum Sink {
    /// Written as it comes.
    Stream(BufWriter<Box<dyn Write>>),
    File {
        writer: BufWriter<NewFileWriter>,
        path: PathBuf,
    },
}

/// A new file as a writer.
pub struct NewFileWriter(Box<NewFile>);

impl Write for NewFileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.file().flush()
    }
}

/// Whether a path is a device or a pipe, which is written to and never replaced.
fn is_stream(path: &Path) -> bool {
    let found = std::fs::metadata(path);
    found.is_ok_and(|found| !found.is_file() && !found.is_dir())
}

impl Sink {
    /// Opens a place; a file that exists is replaced at the end if `force`, and is never one of the inputs.
    pub fn create(path: &Path, force: bool, inputs: &[PathBuf]) -> Result<Self> {
        if path == Path::new(STANDARD) {
            return Ok(Self::Stream(BufWriter::new(Box::new(io::stdout()))));
        }
        if is_stream(path) {
            let stream = OpenOptions::new().write(true).open(path);
            let stream = stream.with_context(|| cannot_write(path))?;
            return Ok(Self::Stream(BufWriter::new(Box::new(stream))));
        }
        output::check(path, force, inputs)?;
        let file = NewFile::create(path).with_context(|| cannot_write(path))?;
        Ok(Self::File {
            writer: BufWriter::new(NewFileWriter(Box::new(file))),
            path: path.to_owned(),
        })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match self {
            Self::Stream(writer) => writer.write_all(bytes),
            Self::File { writer, .. } => writer.write_all(bytes),
        };
        written.context("cannot write the result")
    }

    /// Completes the output; a file gets its name only now.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::Stream(mut writer) => writer.flush().context("cannot write the result"),
            Self::File { writer, path } => {
                let file = writer.into_inner().map_err(io::IntoInnerError::into_error);
                let committed = file.and_then(|NewFileWriter(file)| file.commit());
                committed.with_context(|| cannot_write(&path))
            }
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}; nothing was changed there", path.display())
}
