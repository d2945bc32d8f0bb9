/** The environment of git: its settings, and for commands that call the Git server the token, the addresses and the proxy. */
import { join } from 'node:path'
import { defined, proxyOf, type ProxySettings } from '@windlass/kit'
import type { ForgeHosts } from '../forge/hosts.ts'

export interface GitAccount {
  /** URL of the repository, without credentials. */
  readonly url: string
  readonly username: string
  readonly token: string
}

export interface GitSettings {
  /** Folder for the repository. */
  readonly folder: string
  /** Where the program is found. */
  readonly path: string
  readonly proxy: ProxySettings
  /** PEM file with all accepted certificate authorities. */
  readonly caFile: string | undefined
  /** Which addresses git may call. */
  readonly hosts: ForgeHosts
  /** Bytes that a fetch may take: a server that does not know filters sends the contents of all files. */
  readonly maxFetchBytes: number
  readonly signal: AbortSignal
}

export type Environment = Readonly<Record<string, string>>

/** Settings that keep files, hooks and programs of a repository and of the machine out. */
const CONFIG: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  // Contents are streamed. A small pack can contain a file that needs much memory.
  ['core.bigFileThreshold', '1m'],
  ['credential.helper', ''],
  ['http.followRedirects', 'false'],
  ['http.lowSpeedLimit', '1'],
  ['http.lowSpeedTime', '30'],
  // A fetch is always a pack, whose size is limited.
  ['fetch.unpackLimit', '1'],
  // Differences would be computed from the earlier contents, which are not here. The option --no-thin has no effect over HTTP.
  ['pack.window', '0'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['commit.gpgSign', 'false'],
  ['push.gpgSign', 'false'],
]

/**
 * Returns the environment of commands that call nothing. No protocol is allowed: git fetches objects that are absent, with all of their history, unless it knows
 * GIT_NO_LAZY_FETCH.
 */
export function localEnvironment(folder: string, { path }: Pick<GitSettings, 'path'>): Environment {
  return {
    PATH: path,
    HOME: folder,
    LC_ALL: 'C',
    GIT_DIR: join(folder, 'repository'),
    GIT_INDEX_FILE: join(folder, 'index'),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: '',
    GIT_NO_LAZY_FETCH: '1',
    ...numbered(CONFIG),
  }
}

/**
 * Returns what commands that call the Git server have besides. The token is in the configuration of the environment, so that no command line and no file has it, and
 * is sent to the host of the integration only. `addresses` of this host were checked, and git uses no others.
 */
export function remoteEnvironment(
  { url, username, token }: GitAccount,
  { proxy, caFile }: GitSettings,
  addresses: readonly string[],
): Environment {
  const { origin, protocol, hostname, port } = new URL(url)
  const login = Buffer.from(`${username}:${token}`).toString('base64')
  const place = `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`
  const used = proxyOf(new URL(url), proxy)
  return {
    GIT_ALLOW_PROTOCOL: 'http:https',
    ...numbered([
      ...CONFIG,
      [`http.${origin}/.extraHeader`, `Authorization: Basic ${login}`],
      ...(addresses.length === 0 ? [] : [['http.curloptResolve', `${place}:${addresses.join(',')}`] as const]),
    ]),
    // curl reads the proxy for plain http only from the lower-case name.
    ...defined({ http_proxy: used, https_proxy: used, GIT_SSL_CAINFO: caFile }),
  }
}

/** Returns the variables that have the settings (git-config(1)). */
function numbered(config: readonly (readonly [key: string, value: string])[]): Environment {
  const entries = config.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(config.length), ...Object.fromEntries(entries) }
}
