//! Long work on the CPU, which would block other requests on its thread.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// The size of the input from which on work is long.
const LONG_FROM_BYTES: usize = 256 << 10;

/// Runs work on input of this many bytes. If it is long, other threads of the runtime take over this thread's other
/// tasks, unless the runtime has only one thread.
pub(crate) fn run_cpu_bound<R>(bytes: usize, work: impl FnOnce() -> R) -> R {
    let has_threads = Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    match bytes >= LONG_FROM_BYTES && has_threads {
        true => block_in_place(work),
        false => work(),
    }
}

/// The bytes of these strings together.
pub(crate) fn bytes_of(strings: &[String]) -> usize {
    strings.iter().map(String::len).sum()
}
