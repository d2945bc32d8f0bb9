/** A runner entry of the configuration while the manager runs: its client, its certificates and its cluster. */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Clock, Logger } from '@windlass/kit'
import type { RunnerConfig, RunnerSection } from '../config/schema.ts'
import { openCoordinator, type Coordinator } from '../coordinator/client.ts'
import { mergeLabels, runnerInfo } from '../coordinator/info.ts'
import { shortToken } from '../coordinator/tokens.ts'
import { openTlsSource, type TlsSource } from '../coordinator/tls-files.ts'
import { featureFlags } from '../job/feature-flags.ts'
import type { RunnerEntry } from '../feed/feed.ts'

export interface Entry {
  /** Identifies server and token. */
  readonly key: string
  /** Identifies the runner, whatever its token: another manager of it has the same one. */
  readonly runnerKey: string
  readonly runner: RunnerSection
  readonly coordinator: Coordinator
  readonly tls: TlsSource | undefined
}

export interface EntryOptions {
  readonly configFile: string
  readonly version: string
  readonly revision: string
  /** Whether the manager serves terminals of jobs. */
  readonly hasTerminals: boolean
  readonly clock: Clock
  readonly log: Logger
  /** Aborts all calls. */
  readonly signal: AbortSignal
}

const hash = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 20)

/** Returns the key of an entry. */
export function entryKey({ url = '', token = '' }: RunnerSection): string {
  return hash(url.replace(/\/+$/, ''), token)
}

/** Returns the key of a runner. Without an ID it changes with the token. */
export function runnerKey({ url = '', token = '', id }: RunnerSection): string {
  return hash(url.replace(/\/+$/, ''), id === undefined || id === 0 ? token : `#${id}`)
}

/** Opens an entry. Throws `config-invalid` for a URL or labels that are not valid. */
export function openEntry(
  runner: RunnerSection,
  config: Pick<RunnerConfig, 'labels' | 'connection_max_age'>,
  { configFile, version, revision, hasTerminals, clock, log, signal }: EntryOptions,
): Entry {
  const { url = '', token = '' } = runner
  const tls = URL.canParse(url)
    ? openTlsSource({
        url,
        certsFolder: join(dirname(configFile), 'certs'),
        caFile: runner['tls-ca-file'],
        certFile: runner['tls-cert-file'],
        keyFile: runner['tls-key-file'],
      })
    : undefined
  const { connection_max_age: maxAgeMs } = config
  const coordinator = openCoordinator({
    url,
    token,
    tls: tls?.options,
    userAgent: `windlass ${version} (${process.platform}/${process.arch})`,
    info: runnerInfo({
      version,
      revision,
      shell: runner.shell || 'bash',
      labels: mergeLabels(config.labels ?? {}, runner.labels ?? {}),
      hasTerminals,
    }),
    ...(maxAgeMs !== undefined && { connectionMaxAgeMs: maxAgeMs }),
    log,
    clock,
    signal,
  })
  return { key: entryKey(runner), runnerKey: runnerKey(runner), runner, coordinator, tls }
}

/** Names of a runner that people know from GitLab: its own, and the short form of its token. */
export interface RunnerNames {
  readonly name: string
  readonly shortToken: string
}

export function runnerNames({ runner: { name = '', token = '' } }: Pick<Entry, 'runner'>): RunnerNames {
  return { name, shortToken: shortToken(token) }
}

/** Returns the settings of an entry for the feed. */
export function feedEntry({ key, runner }: Entry): RunnerEntry {
  return {
    key,
    limit: runner.limit ?? 0,
    requestConcurrency: Math.max(1, runner.request_concurrency ?? 1),
    isAdaptive: featureFlags(runner).FF_USE_ADAPTIVE_REQUEST_CONCURRENCY,
    strictCheckInterval: runner.strict_check_interval ?? false,
    unhealthyRequestsLimit: runner.unhealthy_requests_limit,
    unhealthyIntervalMs: runner.unhealthy_interval,
  }
}
