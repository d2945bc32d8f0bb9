/** The advertised URL of `windlass up`: given once, stored in the data folder, printed at every start. */
import { readFileSync, rmSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join, resolve } from 'node:path'
import { hasCode, isLoopback, writePrivateFile } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { parseBaseUrl } from '@windlass/protocol'

/** Value of `--advertise` that removes the stored URL. */
const REMOVE = 'none'

function parseAdvertised(text: string): string {
  const url = parseBaseUrl(text)
  if (url === undefined)
    throw fault('usage', {
      message: `--advertise: "${text}" is not the base URL of a server.`,
      hint: `Use http://HOST:PORT or https://HOST, without user name, password, query and fragment; \`--advertise ${REMOVE}\` removes the stored URL.`,
    })
  return url
}

/** Parses `--advertise`. Returns undefined if it removes the stored URL. Throws `usage`. */
export function readAdvertised(given: string): string | undefined {
  return given === REMOVE ? undefined : parseAdvertised(given)
}

/** Returns the advertised URL of a server with this data folder: the given one, which is stored, or else the stored one. */
export function resolveAdvertised(dataDir: string, given: string | undefined): string | undefined {
  const file = join(dataDir, 'advertised-url')
  if (given === undefined) return readStored(file)
  const url = readAdvertised(given)
  if (url === undefined) {
    rmSync(file, { force: true })
    return undefined
  }
  writePrivateFile(file, `${url}\n`, { replace: true })
  return url
}

function readStored(file: string): string | undefined {
  try {
    return parseAdvertised(readFileSync(file, 'utf8').trim())
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Returns URLs at which other machines may reach a port of this one, the most likely first. An empty port means port 80. */
export function urlsOfMachine(port: string): string[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const suffix = port === '' ? '' : `:${port}`
  return all.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => `http://${address}${suffix}`)
}

export interface Reach {
  /** URL for clients on this machine. */
  readonly url: string
  /** Address on which the server listens. */
  readonly host: string
  readonly advertised: string | undefined
  /** Options that a restart must repeat. */
  readonly options: RestartOptions
}

export interface RestartOptions {
  /** The data folder as the user gave it. */
  readonly data?: string | undefined
  /** May contain a password and is never printed. */
  readonly postgres?: string | undefined
  readonly logs?: string | undefined
}

/** Describes how clusters reach the server, or what to change so that they can. */
export function describeReach({ url, host, advertised, options }: Reach): string[] {
  const { port } = new URL(url)
  const isLocal = isLoopback(`http://${host.includes(':') ? `[${host}]` : host}`) && host !== '0.0.0.0' && host !== '::'
  const [likely = `http://ADDRESS:${port}`, ...others] = isLocal || advertised === undefined ? urlsOfMachine(port) : []
  if (advertised !== undefined) {
    const lines = [`Clusters reach the server at ${advertised} (saved for the next start; change it with --advertise).`]
    if (isLocal) lines.push(`It listens only on ${host}: add --host 0.0.0.0, or forward requests on this machine.`)
    return lines
  }
  if (isLocal)
    return [`The server is reachable only from this machine. To let clusters reach it: ${restartCommand(likely, options)}`]
  return [
    `The server listens on ${host} and has no advertised URL. Links in builds point to ${url}.`,
    `Addresses of this machine: ${[likely, ...others].join(', ')}.`,
    `Advertise one that pods can reach: ${restartCommand(likely, options)}`,
  ]
}

/** Returns `--logs` with an absolute folder, because the detached server has another working folder. */
export function resolveLogs(given: string | undefined): string | undefined {
  return given === undefined || given.includes('://') ? given : resolve(given)
}

/** Returns the commands that restart the local server so that clusters reach it at `url`. */
export function restartCommand(url: string, { data, postgres, logs }: RestartOptions = {}): string {
  const folder = data === undefined ? '' : ` --data ${data}`
  const store = `${postgres === undefined ? '' : ' --postgres URL'}${logs === undefined ? '' : ` --logs '${logs}'`}`
  const port = new URL(url.replace('ADDRESS', 'localhost')).port || '80'
  return `windlass up${folder} --stop; windlass up${folder}${store} --detach --host 0.0.0.0 --port ${port} --advertise ${url}`
}
