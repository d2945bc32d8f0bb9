/** Settings of the client of a tunnel, from `WINDLASS_TUNNEL_*` or options of the command. */
import { proxyFrom, readConfig, readNamedFile, splitList } from '@windlass/kit'
import { LogLevel, ProbePort } from '@windlass/kit/settings'
import { z } from 'zod'
import { RUNTIME_NAME } from '../protocol.ts'
import { DEFAULT_PREFIXES } from './allowed-path.ts'
import type { TunnelClientOptions } from './tunnel-client.ts'

const urlOf = (option: string) => z.url({ protocol: /^https?$/, error: `must be an http:// or https:// URL (${option})` })
const toUrl = (text: string): URL => new URL(text)

export const TunnelClientConfig = z.object({
  SERVER_URL: urlOf('--server-url')
    .transform(toUrl)
    .describe('Base URL of the server of the tunnel, such as https://register.tunnels.example.com.'),
  RUNTIME: z
    .string('must name the GitOps runtime (--runtime)')
    .regex(RUNTIME_NAME, 'must have lower-case letters, digits and -, at most 38 characters (--runtime)')
    .describe('Name of the GitOps runtime.'),
  TOKEN_PATH: z
    .string('must name the file with the token (--token-file)')
    .min(1)
    .describe('File with the token of the runtime. The client reads it again while it runs, and connects with a new token.'),
  ROUTER_URL: urlOf('--router-url')
    .default('http://internal-router')
    .transform(toUrl)
    .describe('The one address that calls are forwarded to: the router of the runtime.'),
  PREFIXES: z
    .string()
    .default(DEFAULT_PREFIXES.join(','))
    .transform(splitList)
    .refine(
      (list) => list.length > 0 && list.every((prefix) => /^(\/[\w.-]+)+$/.test(prefix)),
      'must be paths such as /app-proxy',
    )
    .describe('Paths that are forwarded, with all below them, separated by commas.'),
  CA_PATH: z.string().optional().describe('PEM file with certificate authorities for the server, besides the default ones.'),
  ROUTER_CA_PATH: z.string().optional().describe('PEM file with the certificate authorities of a router with TLS.'),
  STANDBY: z
    .stringbool()
    .default(false)
    .describe('Whether this is one of several clients of the runtime, which wait for the place of the one that is connected.'),
  PORT: ProbePort,
  LOG_LEVEL: LogLevel,
})
export type TunnelClientConfig = z.output<typeof TunnelClientConfig>

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings. Throws `config-invalid` that lists every invalid key. */
export function readTunnelClientConfig(env: Environment): Readonly<TunnelClientConfig> {
  return readConfig(TunnelClientConfig, env, 'WINDLASS_TUNNEL_')
}

/** Returns the options of the client. Proxies come from the standard variables. Throws `config-invalid` for a file that cannot be read. */
export function toTunnelClientOptions(
  config: TunnelClientConfig,
  { env, ...rest }: Pick<TunnelClientOptions, 'clock' | 'log' | 'version'> & { readonly env: Environment },
): TunnelClientOptions {
  return {
    ...rest,
    server: config.SERVER_URL,
    runtime: config.RUNTIME,
    tokenFile: config.TOKEN_PATH,
    router: config.ROUTER_URL,
    prefixes: config.PREFIXES,
    ca: config.CA_PATH === undefined ? undefined : readNamedFile(config.CA_PATH),
    routerCa: config.ROUTER_CA_PATH === undefined ? undefined : readNamedFile(config.ROUTER_CA_PATH),
    proxy: proxyFrom(env),
    isStandby: config.STANDBY,
  }
}
