/** The context of the `in-cluster` commands: the server as an admin, the cluster as their service account. */
import { openLog, retry, systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { inCluster, openKube, type Kube } from '@windlass/kube'
import type { ApiClient } from '@windlass/client'
import type { Printer } from '../printer.ts'
import type { Settings } from '../config.ts'
import { isOutage, openRetryingClient } from '../session/session.ts'
import { inClusterConfig, readSecretFile, type InClusterConfig } from './config.ts'

export interface CommandContext {
  readonly config: Readonly<InClusterConfig>
  readonly out: Printer
  /** Server client without a key. */
  readonly server: ApiClient
  /** Server client with the mounted admin key, if any. */
  readonly admin: ApiClient | undefined
  /** Returns the cluster client, opened on first use. */
  readonly kube: () => Kube
}

/** Attempts to reach the server, which may be starting at the same time. */
const ATTEMPTS = 6

/** Reads settings and files. Throws `config-invalid`. */
export function openContext(settings: Settings, out: Printer): CommandContext {
  const config = inClusterConfig(settings.environment)
  const server = openRetryingClient({ url: config.SERVER_URL, caFile: settings.caFile })
  const token = readSecretFile(config.TOKEN_PATH)
  let kube: Kube | undefined
  return {
    config,
    out,
    server,
    admin: token === undefined ? undefined : server.withToken(token),
    kube: () => (kube ??= openOwnCluster(settings)),
  }
}

/** Opens the cluster of this pod with its service account. Throws `config-invalid` elsewhere. */
export function openOwnCluster({ environment, debug }: Settings): Kube {
  const access = inCluster(environment)
  if (access === undefined)
    throw fault('config-invalid', {
      message: 'This command does not run in a pod of a cluster.',
      hint: 'The Helm chart runs the `windlass in-cluster` commands. Use `windlass runner` outside a cluster.',
    })
  return openKube({ access, log: openLog({ level: debug ? 'debug' : 'warn', name: 'in-cluster' }) })
}

/** Returns the admin client. Throws `config-invalid` without a key. */
export function requireAdmin({ admin }: CommandContext): ApiClient {
  if (admin === undefined)
    throw fault('config-invalid', {
      message: 'No API key is mounted.',
      hint: 'Set global.codefreshToken or global.codefreshTokenSecretKeyRef in the chart.',
    })
  return admin
}

/** Retries a call for about half a minute while the server cannot be reached. */
export function retryUnreachable<T>(call: () => Promise<T>): Promise<T> {
  return retry({ clock: systemClock, tries: ATTEMPTS, baseMs: 1_000, maxMs: 8_000, retryIf: isOutage }, call)
}
