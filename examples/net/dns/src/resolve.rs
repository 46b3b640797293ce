//! What names mean: the members that A and SRV records name, and for how long that holds.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::future::try_join_all;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::rdata::SRV;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use poise::core::{Backend, Weight};
use poise::discovery::FullSet;
use stage::Endpoint;

/// How long the name server may take to answer.
const TIMEOUT: Duration = Duration::from_millis(500);

/// What a name means, until its time is over.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) set: FullSet<SocketAddr, Endpoint>,
    pub(crate) valid_for: Duration,
}

/// Asks one name server.
#[derive(Clone, Debug)]
pub(crate) struct Resolve(TokioResolver);

impl Resolve {
    /// Makes a resolver without a cache: each answer holds for its own time, and nobody asks before that is over.
    pub(crate) fn asking(server: SocketAddr) -> Result<Self, NetError> {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
            connection.port = server.port();
            connection
        });
        let name_server = NameServerConfig::new(server.ip(), true, connections.into());
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![name_server]);
        let mut options = ResolverOpts::default();
        options.cache_size = 0;
        options.timeout = TIMEOUT;
        options.attempts = 1;
        options.use_hosts_file = ResolveHosts::Never;
        let provider = TokioRuntimeProvider::default();
        Ok(Self(TokioResolver::builder_with_config(config, provider).with_options(options).build()?))
    }

    /// Tells whether the server has a zone.
    pub(crate) async fn has_zone(&self, zone: &str) -> bool {
        self.0.lookup(zone, RecordType::SOA).await.is_ok()
    }

    /// Finds the members that have the addresses of a name, all on one port.
    pub(crate) async fn addresses(self, name: String, port: u16) -> Result<Answer, NetError> {
        let Records { data, valid_for } = self.records(name.parse()?, RecordType::A).await?;
        let addresses = data.iter().filter_map(RData::ip_addr);
        let set = addresses.map(|ip| member(SocketAddr::new(ip, port))).collect();
        Ok(Answer { set, valid_for })
    }

    /// Finds the members that a service name has, each with a port, a priority and a weight of its own.
    ///
    /// A target without addresses is left out; one whose addresses cannot be found out fails the whole, as what is known of
    /// it from before is better than nothing.
    pub(crate) async fn services(self, name: String) -> Result<Answer, NetError> {
        let Records { data, mut valid_for } = self.records(name.parse()?, RecordType::SRV).await?;
        let services =
            data.iter().filter_map(|data| if let RData::SRV(srv) = data { Some(srv) } else { None });
        // The root as a target says that there is no such service.
        let targets = services.filter(|service| !service.target.is_root()).map(async |service| {
            let addresses = self.records(service.target.clone(), RecordType::A).await?;
            Ok::<_, NetError>((service, addresses))
        });
        let mut members = Vec::new();
        for (service, addresses) in try_join_all(targets).await? {
            valid_for = valid_for.min(addresses.valid_for);
            let ips = addresses.data.iter().filter_map(RData::ip_addr);
            members.extend(ips.map(|ip| served(service, ip)));
        }
        Ok(Answer { set: members.into_iter().collect(), valid_for })
    }

    /// Looks up records. That there are none, `NXDOMAIN` or `NODATA`, is an answer like any other; that nobody says so,
    /// `SERVFAIL` or silence, is an error.
    async fn records(&self, name: Name, kind: RecordType) -> Result<Records, NetError> {
        match self.0.lookup(name, kind).await {
            Ok(found) => Ok(Records::of(&found)),
            Err(NetError::Dns(DnsError::NoRecordsFound(none))) => {
                // RFC 2308: without an SOA record the answer must not be kept.
                let valid_for = none.negative_ttl.map_or(Duration::ZERO, seconds);
                Ok(Records { data: Vec::new(), valid_for })
            }
            Err(error) => Err(error),
        }
    }
}

/// The records of one lookup; there may be none.
struct Records {
    data: Vec<RData>,
    valid_for: Duration,
}

impl Records {
    /// It holds as long as the shortest-lived of its records, aliases on the way among them.
    fn of(found: &Lookup) -> Self {
        let shortest = found.answers().iter().map(|record| record.ttl).min();
        let data = found.answers().iter().map(|record| record.data.clone()).collect();
        Self { data, valid_for: shortest.map_or(Duration::ZERO, seconds) }
    }
}

fn seconds(ttl: u32) -> Duration {
    Duration::from_secs(ttl.into())
}

fn member(address: SocketAddr) -> (SocketAddr, Endpoint) {
    (address, Backend::new(address))
}

fn served(service: &SRV, ip: IpAddr) -> (SocketAddr, Endpoint) {
    let (address, endpoint) = member(SocketAddr::new(ip, service.port));
    let endpoint = endpoint.with_priority(service.priority.into()).with_weight(weight(service.weight));
    (address, endpoint)
}

/// RFC 2782: beside others, a weight of zero has a very small chance, which is not none. A hundredth of one is that.
fn weight(weight: u16) -> Weight {
    Weight::new(u32::from(weight) * 100).unwrap_or(Weight::ONE)
}
