//! The records of a topic.

use rdkafka::Timestamp;
use rdkafka::message::{BorrowedMessage, Headers, Message, OwnedHeaders};
use seenguard::{ReceivedReport, Time};

use super::{EventMapping, FORM_HEADER};
use crate::error::{Error, ErrorKind};
use crate::{json, received};

/// A record that is not acknowledged yet.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Option<OwnedHeaders>,
    /// When it was written, in Unix ms.
    pub(super) timestamp: u64,
}

impl Record {
    pub(super) fn of(message: &BorrowedMessage<'_>) -> Self {
        let timestamp = match message.timestamp() {
            Timestamp::NotAvailable => 0,
            Timestamp::CreateTime(ms) | Timestamp::LogAppendTime(ms) => ms.max(0) as u64,
        };
        Record {
            key: message.key().map(Vec::from),
            value: message.payload().map(Vec::from),
            headers: message.headers().map(|headers| headers.detach()),
            timestamp,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        [&self.key, &self.value].into_iter().flatten().map(Vec::len).sum()
    }

    /// The form of the record, if a server has written it. An invalid form is an error.
    fn form(&self) -> Result<Option<u32>, Error> {
        let headers = self.headers.iter().flat_map(Headers::iter);
        let form = headers.filter(|header| header.key == FORM_HEADER).last();
        // JSON, so that a job can copy it into a line of the bulk route.
        let form = form.and_then(|header| header.value).map(json::from_slice).transpose();
        form.map_err(|error| Error::new(ErrorKind::BadReport, error))
    }

    /// Whether a newer version has written the record. An invalid form is an error.
    pub(super) fn is_newer(&self) -> Result<bool, Error> {
        received::is_newer(self.form()?)
    }

    /// The user and the report; `None` for an event that is not an impression; or the code of the error.
    pub(super) fn content(
        &self,
        mapping: Option<&EventMapping>,
    ) -> Result<Option<(String, ReceivedReport)>, &'static str> {
        let form = self.form().map_err(|error| error.code())?;
        let value = self.value.as_deref().ok_or(ErrorKind::BadReport.code())?;
        let written = Time::from_unix_ms(self.timestamp);
        if let Some(mapping) = mapping {
            return mapping.report(self.key.as_deref(), value, written);
        }
        let user = self.key.as_deref().and_then(|key| std::str::from_utf8(key).ok());
        let user = user
            .filter(|user| !user.is_empty())
            .ok_or(ErrorKind::BadOption.code())?;
        let report = received::of_record(value, form, written).map_err(|error| error.code())?;
        Ok(Some((user.to_owned(), report)))
    }
}
