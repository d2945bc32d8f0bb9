/** The settings of the server of terminals: `[session_server]`. */
import { isIP } from 'node:net'
import { withoutBrackets } from '@windlass/kit'
import type { RunnerConfig } from './schema.ts'

export interface SessionSettings {
  /** Host to listen on; undefined for all addresses. */
  readonly host: string | undefined
  readonly port: number
  /** Host and port at which GitLab reaches the server, such as `runner.example.com:8093`. IPv6 is in brackets. */
  readonly advertised: string
  /** The host of `advertised`, without brackets. */
  readonly name: string
  /** Longest time for which a job that has ended waits for its terminal. Seconds. */
  readonly timeoutS: number
}

/** What is wrong with a key of the section. */
export interface SessionProblem {
  readonly key: 'listen_address' | 'advertise_address'
  readonly problem: string
}

/** Default of `session_timeout`, which 0 means as well. Seconds. */
const SESSION_TIMEOUT_S = 1_800
/** Hosts that mean all addresses of a machine. */
const ANY_HOST: ReadonlySet<string> = new Set(['', '0.0.0.0', '::'])

/** Returns the settings; undefined without `listen_address`, which turns the server off. */
export function sessionSettings(section: RunnerConfig['session_server']): SessionSettings | SessionProblem | undefined {
  const { listen_address: listen = '', advertise_address: advertise = '', session_timeout: timeout = 0 } = section ?? {}
  if (listen === '') return undefined
  const own = splitAddress(listen)
  if (own?.port === undefined)
    return { key: 'listen_address', problem: `"${listen}" is not an address to listen on, such as "0.0.0.0:8093"` }
  const shown = splitAddress(advertise === '' ? listen : advertise)
  if (shown === undefined || ANY_HOST.has(shown.host))
    return {
      key: 'advertise_address',
      problem: `"${advertise}" is not an address at which GitLab reaches this manager, such as "runner.example.com:8093"`,
    }
  const { host: name } = shown
  return {
    host: ANY_HOST.has(own.host) ? undefined : own.host,
    port: own.port,
    advertised: `${isIP(name) === 6 ? `[${name}]` : name}${shown.port === undefined ? '' : `:${shown.port}`}`,
    name,
    timeoutS: timeout > 0 ? timeout : SESSION_TIMEOUT_S,
  }
}

/** Splits `host:port`, `host`, `:port` and `[address]:port`. Returns undefined for other texts. */
function splitAddress(text: string): { readonly host: string; readonly port: number | undefined } | undefined {
  const [, host = '', port] = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@?#[\]]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (text === '' || (host === '' && port === undefined)) return undefined
  const bare = withoutBrackets(host)
  const isName =
    bare === '' || isIP(bare) !== 0 || (/^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/.test(bare) && bare.length <= 253)
  if (!isName || (port !== undefined && Number(port) > 65_535)) return undefined
  return { host: bare, port: port === undefined ? undefined : Number(port) }
}
