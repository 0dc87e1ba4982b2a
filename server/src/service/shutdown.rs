//! Shutdown by signals.

use std::process;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::Failure;

/// The stage of the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Running,
    /// Not ready, but still serving, until load balancers notice.
    Draining,
    /// Accepts nothing new, and completes requests in progress.
    Stopping,
}

/// Starts the shutdown at Ctrl-C or SIGTERM; a second signal ends the process at once.
pub fn requested(drain: Duration) -> Result<watch::Receiver<Stage>, Failure> {
    let (sender, receiver) = watch::channel(Stage::Running);
    let mut signals = signals()?;
    tokio::spawn(async move {
        if signals.recv().await.is_none() {
            return std::future::pending().await;
        }
        tracing::info!("shutting down after the requests in progress, a second signal ends the process at once");
        tokio::spawn(async move {
            if signals.recv().await.is_some() {
                tracing::warn!("second signal, ending at once");
                process::exit(1);
            }
        });
        sender.send_replace(Stage::Draining);
        sleep(drain).await;
        sender.send_replace(Stage::Stopping);
        // Without the sender, receivers would get an error instead of the change.
        sender.closed().await;
    });
    Ok(receiver)
}

#[cfg(unix)]
fn signals() -> Result<mpsc::Receiver<()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if sender.send(()).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

#[cfg(not(unix))]
fn signals() -> Result<mpsc::Receiver<()>, Failure> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).await.is_ok() {} });
    Ok(receiver)
}

/// Waits until the program has reached this stage.
pub async fn wait(stage: &mut watch::Receiver<Stage>, wanted: Stage) {
    // It cannot fail: the sender lives as long as the program.
    let _ = stage.wait_for(|&stage| stage >= wanted).await;
}
