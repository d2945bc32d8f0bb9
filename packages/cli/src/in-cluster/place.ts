/** What the commands of the chart work with: the server as an admin, the cluster as their service account. */
import { nodeTransport, openLog, retry, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { inCluster, openKube, type Kube } from '@windlass/kube'
import { createClient, type Client } from '@windlass/protocol'
import type { Printer } from '../printer.ts'
import type { Settings } from '../config.ts'
import { inClusterConfig, readSecretFile, type InClusterConfig } from './config.ts'

export interface Place {
  readonly config: Readonly<InClusterConfig>
  readonly out: Printer
  /** The server without a key. */
  readonly server: Client
  /** The server as the admin whose key is mounted; undefined when none is. */
  readonly admin: Client | undefined
  /** The cluster; opened at the first use. */
  readonly kube: () => Kube
}

/** How long the server may be away at the start of a command: it may come up beside us. */
const TRIES = 6

/** Reads settings and files. Throws `config-invalid`. */
export function openPlace(settings: Settings, out: Printer): Place {
  const config = inClusterConfig(settings.environment)
  const server = createClient({ url: config.SERVER_URL, transport: nodeTransport({ caFile: settings.caFile }) })
  const token = readSecretFile(config.TOKEN_PATH)
  let kube: Kube | undefined
  return {
    config,
    out,
    server,
    admin: token === undefined ? undefined : server.withToken(token),
    kube: () => (kube ??= openCluster(settings)),
  }
}

function openCluster({ environment, debug }: Settings): Kube {
  const access = inCluster(environment)
  if (access === undefined)
    throw fault('config-invalid', {
      message: 'This is no pod of a cluster.',
      hint: 'The commands of `windlass in-cluster` are run by the Helm chart; use `windlass runner` on your machine.',
    })
  return openKube({ access, log: openLog({ level: debug ? 'debug' : 'warn', name: 'in-cluster' }) })
}

/** The server as admin. Throws `config-invalid` without a key. */
export function requireAdmin({ admin }: Place): Client {
  if (admin === undefined)
    throw fault('config-invalid', {
      message: 'No API key is mounted.',
      hint: 'Give the chart global.codefreshToken or global.codefreshTokenSecretKeyRef.',
    })
  return admin
}

/** Calls the server again while it cannot be reached, half a minute in all. */
export function patiently<T>(call: () => Promise<T>): Promise<T> {
  const retryIf = (error: unknown): boolean => isFault(error, 'server-unreachable')
  return retry({ clock: systemClock, tries: TRIES, baseMs: 1_000, maxMs: 8_000, retryIf }, call)
}

/** Undefined in place of `not-found`. */
export async function orAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (isFault(error, 'not-found')) return undefined
    throw error
  }
}

/** Path of one thing of `/v1` by its name, which may hold slashes. */
export function pathOf(kind: 'agents' | 'runtimes', name: string): string {
  return `/v1/${kind}/${encodeURIComponent(name)}`
}
