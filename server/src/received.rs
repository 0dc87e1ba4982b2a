//! Parses reports of a device or a stream.

use metrics::counter;
#[cfg(feature = "consumer")]
use seenguard::StoreFailure;
use seenguard::{ReceivedReport, Report};
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind};
use crate::json;

/// Parses a [`Report`] or a [`ReceivedReport`].
///
/// # Errors
/// [`ErrorKind::BadReport`]; over 256 KB with the code `too-large`.
pub(crate) fn read<R: DeserializeOwned>(text: &[u8]) -> Result<R, Error> {
    Report::check_size(text.len()).map_err(too_large)?;
    json::from_slice(text).map_err(|error| Error::new(ErrorKind::BadReport, error))
}

/// The form of the records that this version writes, which is also the newest that it reads.
#[cfg(feature = "consumer")]
pub(crate) const FORM: &str = "1";
#[cfg(any(feature = "axum", feature = "consumer"))]
const NEWEST_FORM: u32 = 1;

/// Whether a record of this form is of a newer version.
///
/// # Errors
/// [`ErrorKind::BadReport`] for an invalid form.
#[cfg(any(feature = "axum", feature = "consumer"))]
pub(crate) fn is_newer(form: Option<u32>) -> Result<bool, Error> {
    match form {
        Some(0) => Err(ErrorKind::BadReport.into()),
        form => Ok(form.is_some_and(|form| form > NEWEST_FORM)),
    }
}

/// Parses the report of a record in a stream. With a form, a server has written it as a [`ReceivedReport`]. Without one
/// it is a device's [`Report`], received at `arrived`: a device must not state when it was received, nor that the
/// history was deleted.
///
/// # Errors
/// As [`is_newer`], [`read`] and [`limited`]; [`ErrorKind::BadReport`] for a newer form.
#[cfg(any(feature = "axum", feature = "consumer"))]
pub(crate) fn of_record(value: &[u8], form: Option<u32>, arrived: seenguard::Time) -> Result<ReceivedReport, Error> {
    if is_newer(form)? {
        return Err(ErrorKind::BadReport.into());
    }
    limited(match form {
        Some(_) => read(value)?,
        None => read::<seenguard::Report>(value)?.received(arrived),
    })
}

/// The JSON of a report's records, without the device's pending impressions, which are in the store: one record, or
/// more if one would be too large, as with many long ids.
#[cfg(feature = "consumer")]
pub(crate) fn records_of(report: &ReceivedReport) -> Result<Vec<String>, Error> {
    let mut first = report.clone();
    first.pending = None;
    let text = serde_json::to_string(&first).map_err(|error| Error::new(StoreFailure::OutOfMemory, error))?;
    if Report::check_size(text.len()).is_ok() || first.impressions.len() + first.unseen.len() < 2 {
        return Ok(vec![text]);
    }
    let mut second = first.clone();
    second.forgotten = false;
    second.impressions = first.impressions.split_off(first.impressions.len().div_ceil(2));
    second.unseen = first.unseen.split_off(first.unseen.len() / 2);
    Ok([records_of(&first)?, records_of(&second)?].concat())
}

/// Removes entries whose ids are too long, and counts them.
///
/// # Errors
/// [`ErrorKind::BadReport`] with the code `too-large`, for more than 1,000 entries.
pub(crate) fn limited(mut report: ReceivedReport) -> Result<ReceivedReport, Error> {
    let left_out = report.limit().map_err(too_large)?;
    counter!("seenguard_ids_left_out_total").increment(left_out as u64);
    Ok(report)
}

fn too_large(error: seenguard::Error) -> Error {
    Error::new(ErrorKind::BadReport, error)
}
