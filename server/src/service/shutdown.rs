//! When the program is to end.

use tokio::sync::watch;

use crate::Failure;

/// Becomes true when the program is asked to end: by Ctrl-C, or by SIGTERM where there are signals.
pub fn requested() -> Result<watch::Receiver<bool>, Failure> {
    let (sender, receiver) = watch::channel(false);
    let asked = signal()?;
    tokio::spawn(async move {
        asked.await;
        tracing::info!("asked to end: what was begun is finished first");
        sender.send_replace(true);
        // The listeners see a change, not the end of the sender.
        sender.closed().await;
    });
    Ok(receiver)
}

#[cfg(unix)]
fn signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn signal() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        // If it cannot be listened for, it is never asked for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Waits until the program is to end.
pub async fn wait(stopping: &mut watch::Receiver<bool>) {
    // Its sender has gone only when the program has.
    let _ = stopping.wait_for(|&is_stopping| is_stopping).await;
}
