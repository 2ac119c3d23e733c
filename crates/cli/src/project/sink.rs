//! Where results go: standard output, or a file that appears when it is complete.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use csv::ByteRecord;
use tempfile::NamedTempFile;

pub struct Sink {
    writer: csv::Writer<BufWriter<Box<dyn Write>>>,
    /// The file to be, and its place.
    file: Option<(NamedTempFile, PathBuf)>,
}

impl Sink {
    pub fn create(path: &Path, delimiter: u8) -> Result<Self> {
        let (target, file): (Box<dyn Write>, _) = if path == Path::new("-") {
            (Box::new(io::stdout()), None)
        } else if path.exists() && !path.is_file() {
            // A device or a pipe, which cannot be replaced by a new file.
            let device = std::fs::OpenOptions::new().write(true).open(path);
            (Box::new(device.with_context(|| cannot_write(path))?), None)
        } else {
            let temporary = temporary_beside(path).with_context(|| cannot_write(path))?;
            let handle = temporary.reopen().with_context(|| cannot_write(path))?;
            (Box::new(handle), Some((temporary, path.to_owned())))
        };
        let mut builder = csv::WriterBuilder::new();
        builder.delimiter(delimiter).flexible(true);
        Ok(Self {
            writer: builder.from_writer(BufWriter::new(target)),
            file,
        })
    }

    pub fn write(&mut self, record: &ByteRecord) -> Result<()> {
        self.writer
            .write_byte_record(record)
            .context("cannot write the result")
    }

    /// Completes the output; a file gets its name only now.
    pub fn finish(self) -> Result<()> {
        let buffer = self.writer.into_inner().map_err(|error| error.into_error());
        let mut buffer = buffer.context("cannot write the result")?;
        buffer.flush().context("cannot write the result")?;
        drop(buffer);
        if let Some((temporary, path)) = self.file {
            temporary
                .as_file()
                .sync_all()
                .with_context(|| cannot_write(&path))?;
            temporary
                .persist(&path)
                .map_err(|error| error.error)
                .with_context(|| cannot_write(&path))?;
        }
        Ok(())
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}; nothing was changed there", path.display())
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fabproj-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}
