/** Which server the command talks to, and with which key. */
import { nodeTransport } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { createClient, type Client } from '@windlass/protocol'
import { currentContext, readConfigFile } from './config-file.ts'
import type { Settings } from './config.ts'

export interface Session {
  readonly client: Client
  /** Name of the context; undefined when the environment names the server. */
  readonly context: string | undefined
  readonly url: string
  readonly token: string | undefined
  /** PEM file of the server's private authority. */
  readonly caFile: string | undefined
}

/** Opens the server that the environment or the current context names. Throws `server-unreachable` when neither names one. */
export function openSession(settings: Settings): Session {
  const context = settings.url !== undefined ? undefined : currentContext(readConfigFile(settings.configFile))
  const url = settings.url ?? context?.url
  if (url === undefined)
    throw fault('server-unreachable', {
      message: 'No server is known.',
      hint: 'Start one with `windlass up`, log in with `windlass auth login`, or run without a server: `windlass run --local -f FILE`.',
    })
  const token = settings.apiKey ?? context?.apiKey
  const caFile = settings.caFile ?? context?.caFile
  return {
    client: createClient({ url, token, transport: nodeTransport({ caFile }) }),
    context: context?.name,
    url,
    token,
    caFile,
  }
}
