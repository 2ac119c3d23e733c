//! The pages of a column, checked for what the crate that decodes them would panic on.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

/// Whether the footer places a column somewhere in the file.
pub(super) fn check_place(column: &ColumnChunkMetaData) -> Result<()> {
    let start = column.dictionary_page_offset();
    let start = start.unwrap_or(column.data_page_offset());
    if start >= 0 && column.compressed_size() >= 0 {
        return Ok(());
    }
    Err(damaged("a column has a negative offset or length"))
}

fn damaged(problem: &str) -> ParquetError {
    ParquetError::General(format!("{problem}: the file is damaged"))
}

/// Refuses pages that refer to a dictionary before there is one.
pub(super) struct Pages {
    pages: Box<dyn PageReader>,
    has_dictionary: bool,
}

impl Pages {
    pub(super) fn new(pages: Box<dyn PageReader>) -> Self {
        Self {
            pages,
            has_dictionary: false,
        }
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match &page {
            Some(Page::DictionaryPage { .. }) => self.has_dictionary = true,
            Some(page) if !self.has_dictionary && uses_dictionary(page.encoding()) => {
                return Err(damaged("a page refers to a dictionary that is missing"));
            }
            _ => {}
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn uses_dictionary(encoding: Encoding) -> bool {
    matches!(
        encoding,
        Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY
    )
}
