//! Whether a connection is by TLS.

use redis::aio::AsyncStream;
use redis::{ConnectionAddr, RedisResult};
use std::pin::Pin;
#[cfg(feature = "tls")]
use {
    std::sync::Arc,
    tokio_rustls::TlsConnector,
    tokio_rustls::rustls::crypto::ring,
    tokio_rustls::rustls::{ClientConfig, RootCertStore},
};

use crate::error::{Error, ErrorKind};

pub(super) enum Security {
    None,
    #[cfg(feature = "tls")]
    Tls(TlsConnector),
}

impl Security {
    /// The security of this address.
    pub(super) fn of(address: &ConnectionAddr) -> Result<Self, Error> {
        match address {
            ConnectionAddr::Tcp(..) => Ok(Security::None),
            #[cfg(feature = "tls")]
            ConnectionAddr::TcpTls { insecure: false, .. } => tls().map(Security::Tls),
            _ => Err(no_url()),
        }
    }

    #[cfg_attr(not(feature = "tls"), expect(unused_variables))]
    pub(super) async fn secure(
        &self,
        host: &str,
        stream: impl AsyncStream + Unpin + Send + Sync + 'static,
    ) -> RedisResult<Pin<Box<dyn AsyncStream + Send + Sync>>> {
        Ok(match self {
            Security::None => Box::pin(stream),
            #[cfg(feature = "tls")]
            Security::Tls(tls) => {
                let host = host.to_owned().try_into().map_err(std::io::Error::other)?;
                Box::pin(tls.connect(host, stream).await?)
            }
        })
    }
}

pub(super) fn no_url() -> Error {
    let form = "the URL of Redis is redis://[user:password@]host[:port][/database], or rediss://… by TLS";
    Error::new(ErrorKind::BadOption, form)
}

/// A connector with the certificate authorities of this system.
#[cfg(feature = "tls")]
fn tls() -> Result<TlsConnector, Error> {
    let mut authorities = RootCertStore::empty();
    authorities.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if authorities.is_empty() {
        let what = "this system knows no authority of certificates: name a file of them by SSL_CERT_FILE";
        return Err(Error::new(ErrorKind::BadOption, what));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::BadOption, error))?;
    let config = config.with_root_certificates(authorities).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
