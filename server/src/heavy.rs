//! Work that would hold up other requests on its thread.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// From this size on, what is worked on is heavy.
const FROM_BYTES: usize = 256 << 10;

/// Does work on this many bytes. If it is heavy, another thread of the runtime takes over the other tasks; a runtime of
/// one thread has no other.
pub(crate) fn work_on<R>(bytes: usize, work: impl FnOnce() -> R) -> R {
    let has_threads = Handle::try_current().is_ok_and(|of| of.runtime_flavor() == RuntimeFlavor::MultiThread);
    match bytes >= FROM_BYTES && has_threads {
        true => block_in_place(work),
        false => work(),
    }
}

/// The bytes of all these texts.
pub(crate) fn bytes_of(texts: &[String]) -> usize {
    texts.iter().map(String::len).sum()
}
