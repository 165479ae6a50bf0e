//! The network between holders and server: a proxy that can delay what passes,
//! swallow it, or hang up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What the network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Weather {
    /// It works.
    Fair = 0,
    /// Everything arrives late, each time by another while.
    Slow = 1,
    /// Nothing arrives, and nobody is told.
    Silent = 2,
    /// Connections break.
    Broken = 3,
}

const ALL: [Weather; 4] = [
    Weather::Fair,
    Weather::Slow,
    Weather::Silent,
    Weather::Broken,
];

/// The network.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Where it listens.
    pub url: String,
    weather: Arc<AtomicU8>,
    delay_max: Duration,
}

impl Proxy {
    /// Before the server at this address. When it is slow, it delays by up to
    /// `delay_max`.
    pub async fn start(server: String, delay_max: Duration) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let proxy = Self {
            url: format!("http://{address}"),
            weather: Arc::default(),
            delay_max,
        };
        let each = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(each.clone().carry(client, server.clone()));
            }
        });
        proxy
    }

    /// Changes the weather, also for connections that are there.
    pub fn set(&self, weather: Weather) {
        self.weather.store(weather as u8, Ordering::Relaxed);
    }

    fn weather(&self) -> Weather {
        ALL[usize::from(self.weather.load(Ordering::Relaxed))]
    }

    async fn carry(self, client: TcpStream, server: String) {
        let Ok(server) = TcpStream::connect(server).await else {
            return;
        };
        let (mut client_reads, mut client_writes) = client.into_split();
        let (mut server_reads, mut server_writes) = server.into_split();
        // Whichever way ends first takes the other with it.
        tokio::select! {
            () = self.pass(&mut client_reads, &mut server_writes) => {}
            () = self.pass(&mut server_reads, &mut client_writes) => {}
            () = self.breaks() => {}
        }
    }

    async fn breaks(&self) {
        while self.weather() != Weather::Broken {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn pass(
        &self,
        from: &mut (impl tokio::io::AsyncRead + Unpin),
        to: &mut (impl tokio::io::AsyncWrite + Unpin),
    ) {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let Ok(count @ 1..) = from.read(&mut bytes).await else {
                return;
            };
            match self.weather() {
                Weather::Fair => {}
                Weather::Slow => {
                    let wait = self.delay_max.mul_f64(rand::random());
                    tokio::time::sleep(wait).await;
                }
                // Swallowed. What came in part is no message any more, so the
                // connection is of no use afterwards.
                Weather::Silent => {
                    while self.weather() == Weather::Silent {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    return;
                }
                Weather::Broken => return,
            }
            if to.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    }
}
