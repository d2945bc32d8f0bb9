export { DEFAULT_PREFIXES } from './allowed-path.ts'
export { readTunnelClientConfig, toTunnelClientOptions, TunnelClientConfig } from './config.ts'
export { serveTunnelHealth } from './health.ts'
export { startTunnelClient, type TunnelClient, type TunnelClientOptions, type TunnelClientStatus } from './tunnel-client.ts'
