/** Finds the Docker daemon like the docker CLI: DOCKER_HOST, else the current context, else the local socket. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault, parseJson, sha256 } from '@windlass/kit'
import { z } from 'zod'

export interface Tls {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  /** False: accept any certificate of the daemon. */
  readonly verify: boolean
  /** The expected name in the certificate, if it is not the host. */
  readonly serverName: string | undefined
}

export type Endpoint =
  | { readonly kind: 'unix'; readonly path: string; readonly text: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly tls: Tls | undefined; readonly text: string }

type Env = Readonly<Record<string, string | undefined>>

const CliConfig = z.looseObject({ currentContext: z.string().optional() })
const ContextMeta = z.looseObject({
  Endpoints: z.looseObject({ docker: z.looseObject({ Host: z.string(), SkipTLSVerify: z.boolean().optional() }).optional() }),
})

/**
 * Returns the endpoint that `env` selects. DOCKER_TLS_SERVER_NAME is specific to Windlass: the name in the daemon's certificate if it does not
 * contain the address. Throws `config-invalid` for invalid addresses and unknown contexts.
 */
export function findEndpoint(env: Env): Endpoint {
  if (env['DOCKER_HOST']) return toEndpoint(env['DOCKER_HOST'], tlsFromEnv(env))
  const folder = env['DOCKER_CONFIG'] ?? join(env['HOME'] ?? '/', '.docker')
  const context = env['DOCKER_CONTEXT'] ?? currentContext(folder)
  if (context !== undefined && context !== '' && context !== 'default') return fromContext(folder, context)
  return toEndpoint('unix:///var/run/docker.sock', undefined)
}

function toEndpoint(text: string, tls: Tls | undefined): Endpoint {
  const unix = /^unix:\/\/(.+)$/.exec(text)
  if (unix?.[1] !== undefined) return { kind: 'unix', path: unix[1], text }
  const tcp = /^(?:tcp|https?):\/\/(\[[0-9a-fA-F:]+\]|[^:/]+)(?::(\d+))?\/?$/.exec(text)
  if (tcp?.[1] === undefined)
    throw fault('config-invalid', {
      message: `The Docker address "${text}" is not supported.`,
      hint: 'Use unix:///path or tcp://host:port; for ssh:// forward the socket with `ssh -L` and use its path.',
    })
  const secure = tls ?? (text.startsWith('https:') ? plainTls : undefined)
  const port = tcp[2] === undefined ? (secure === undefined ? 2375 : 2376) : Number(tcp[2])
  return { kind: 'tcp', host: tcp[1].replace(/^\[|\]$/g, ''), port, tls: secure, text }
}

const plainTls: Tls = { ca: undefined, cert: undefined, key: undefined, verify: true, serverName: undefined }

function tlsFromEnv(env: Env): Tls | undefined {
  const verify = (env['DOCKER_TLS_VERIFY'] ?? '') !== ''
  if (!verify && env['DOCKER_CERT_PATH'] === undefined) return undefined
  const folder = env['DOCKER_CERT_PATH'] ?? env['DOCKER_CONFIG'] ?? join(env['HOME'] ?? '/', '.docker')
  return { ...readCertificates(folder), verify, serverName: env['DOCKER_TLS_SERVER_NAME'] }
}

function readCertificates(folder: string): Pick<Tls, 'ca' | 'cert' | 'key'> {
  const read = (name: string): string | undefined => {
    const path = join(folder, name)
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined
  }
  return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') }
}

function currentContext(folder: string): string | undefined {
  const path = join(folder, 'config.json')
  if (!existsSync(path)) return undefined
  const parsed = CliConfig.safeParse(parseJson(readFileSync(path, 'utf8')))
  return parsed.success ? parsed.data.currentContext : undefined
}

/** Reads a context. Its folder is named by the SHA-256 of the context name. */
function fromContext(folder: string, name: string): Endpoint {
  const id = sha256(name)
  const path = join(folder, 'contexts', 'meta', id, 'meta.json')
  const meta = existsSync(path) ? ContextMeta.safeParse(parseJson(readFileSync(path, 'utf8'))) : undefined
  const docker = meta?.success === true ? meta.data.Endpoints.docker : undefined
  if (docker === undefined)
    throw fault('config-invalid', {
      message: `There is no Docker context "${name}".`,
      hint: 'List them with `docker context ls`, or set DOCKER_HOST.',
    })
  const certificates = readCertificates(join(folder, 'contexts', 'tls', id, 'docker'))
  const secure = certificates.ca !== undefined || certificates.cert !== undefined || docker.SkipTLSVerify === true
  const tls = secure ? { ...certificates, verify: docker.SkipTLSVerify !== true, serverName: undefined } : undefined
  return toEndpoint(docker.Host, tls)
}
