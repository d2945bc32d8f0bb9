/** Settings of the listener for tunnels, a part of those of the server. */
import { fault } from '@windlass/kit'
import { Port } from '@windlass/kit/settings'
import { z } from 'zod'
import type { TunnelOptions } from './facts.ts'

const Count = z.coerce.number().int().positive()
/** A domain with at least two labels, and a port if it is not 443. The label of a runtime needs up to 64 characters before it. */
const DOMAIN = /^(?=.{3,180}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+(?::\d{1,5})?$/

export const TUNNEL_KEYS = {
  TUNNEL_DOMAIN: z
    .string()
    .regex(DOMAIN, 'must be a domain such as tunnels.example.com, in lower case')
    .optional()
    .describe(
      'Domain of the hosts of GitOps runtimes, such as tunnels.example.com, with a port if callers do not use 443. All names below it must lead to TUNNEL_PORT. Without it, no runtime can connect.',
    ),
  TUNNEL_PORT: Port.default(8090).describe('Port for tunnels, on the address HOST; 0 selects a free port.'),
  TUNNEL_TLS_CERT_PATH: z
    .string()
    .optional()
    .describe('PEM certificate for all names below TUNNEL_DOMAIN. Without it, a proxy in front of TUNNEL_PORT must end TLS.'),
  TUNNEL_TLS_KEY_PATH: z.string().optional().describe('PEM key of the certificate.'),
  TUNNEL_PEER_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'URL at which the other servers of the database reach TUNNEL_PORT of this one, such as http://10.1.2.3:8090. Without it, callers reach a runtime only through the server it is connected to.',
    ),
  TUNNEL_PEER_CA_PATH: z.string().optional().describe('PEM file of the CA of the certificates of the other servers.'),
  TUNNEL_SECOND_CLIENT: z
    .enum(['reject', 'replace'])
    .default('reject')
    .describe(
      'What happens if a second client of a runtime connects: `reject` refuses it while the first one answers, `replace` ends the connection of the first one.',
    ),
  TUNNEL_CALLS_PER_SECOND: Count.default(100).describe('Calls of one address through tunnels; ten times as many at once.'),
  TUNNEL_BYTES_PER_SECOND: Count.optional().describe(
    'Maximum bytes of bodies per second, for each GitOps runtime and direction; no limit if not set.',
  ),
}

type TunnelConfig = z.output<z.ZodObject<typeof TUNNEL_KEYS>>

/** Returns the options of the listener; undefined without a domain. Throws `config-invalid` for a certificate without its key. */
export function toTunnelOptions(config: TunnelConfig & { readonly HOST: string }): TunnelOptions | undefined {
  const { TUNNEL_DOMAIN: domain, TUNNEL_TLS_CERT_PATH: certFile, TUNNEL_TLS_KEY_PATH: keyFile } = config
  if (domain === undefined) return undefined
  if ((certFile === undefined) !== (keyFile === undefined))
    throw fault('config-invalid', {
      message: 'Only one of WINDLASS_SERVER_TUNNEL_TLS_CERT_PATH and WINDLASS_SERVER_TUNNEL_TLS_KEY_PATH is set.',
      hint: 'Set both or neither.',
    })
  return {
    domain,
    host: config.HOST,
    port: config.TUNNEL_PORT,
    ...(certFile !== undefined && keyFile !== undefined && { tls: { certFile, keyFile } }),
    peerUrl: config.TUNNEL_PEER_URL,
    peerCaFile: config.TUNNEL_PEER_CA_PATH,
    secondClient: config.TUNNEL_SECOND_CLIENT,
    callsPerSecond: config.TUNNEL_CALLS_PER_SECOND,
    bytesPerSecond: config.TUNNEL_BYTES_PER_SECOND,
  }
}
